internal import CSignalSafe

/// Reads a thread's files in `/proc` into the second half of the scratch memory.
///
/// RUNS-DURING-CRASH. Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_syscall(5).
@safe
struct ThreadFiles {
  private let proc: ProcReader
  private let tasks: ProcReader
  private let scratch: Scratch

  /// - Parameter tasks: a descriptor of `/proc/self/task`, which makes opening files faster; -1 if there is none.
  @_noLocks
  init(_ proc: ProcReader, tasks: Int32 = -1, scratch: Scratch) {
    self.proc = proc
    self.tasks = ProcReader(proc: tasks, proc.capture)
    self.scratch = scratch.secondHalf
  }

  /// Reads the thread's name, state and scheduling, and which of the signals below 32 it blocks.
  ///
  /// Reading `stat`, with three system calls, takes only half as much time as reading the `status` file.
  ///
  /// - Returns: false if the thread has ended. If the thread's `stat` line cannot be read, the thread is treated as
  ///   if it blocked no signal.
  @_noLocks
  func read(_ record: ThreadRecord) -> Bool {
    let count = readFile("/stat", of: record.threadID)
    guard count > 0, let line = ThreadLine(scratch.bytes(count: count)) else {
      return count != -Int(ENOENT) && count != -Int(ESRCH) || proc.isMissing
    }
    record.set(line)
    return true
  }

  /// Reads the `stat` line of a thread into scratch memory; nil if the file cannot be read or has another format.
  @_noLocks
  func line(of threadID: Int32) -> ThreadLine? {
    let count = readFile("/stat", of: threadID)
    return count > 0 ? ThreadLine(scratch.bytes(count: count)) : nil
  }

  /// Reads a file of a thread into scratch memory; returns the number of bytes, or -errno.
  @inline(never)
  private func readFile(_ name: StaticString, of threadID: Int32) -> Int {
    var path = unsafe TextBuffer(scratch.address, capacity: scratch.size)
    if tasks.isMissing { path.append("self/task/") }
    path.append(decimal: Int64(threadID))
    path.append(name)
    return (tasks.isMissing ? proc : tasks).attempt(over: path)
  }

  /// Reads from the `status` file which signals the thread blocks, including those above 31.
  @_noLocks
  func readBlockedSignals(_ record: ThreadRecord) {
    let count = readFile("/status", of: record.threadID)
    var scanner = scratch.text(count: count > 0 ? count : 0)
    guard scanner.find("SigBlk:") else { return }
    record.fields.blockedSignals = scanner.hexadecimal()
    record.fields.knowsAllSignals = true
  }

  /// Reads the system call in which a blocked thread waits.
  ///
  /// Call this before the thread is stopped, because a stopped thread waits in the handler's futex call.
  @_noLocks
  func readSystemCall(_ record: ThreadRecord) {
    let count = readFile("/syscall", of: record.threadID)
    let text = scratch.text(count: count > 0 ? count : 0)
    record.setSystemCall(text.matches("running") ? text.line.prefix(0) : text.line)
  }
}
