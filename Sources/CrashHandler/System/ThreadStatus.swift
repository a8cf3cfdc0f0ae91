internal import CSignalSafe

/// Reads a thread's files in `/proc`, through the second half of the scratch memory.
///
/// RUNS-DURING-CRASH. Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_syscall(5).
@safe
struct ThreadStatus {
  private let proc: ProcReader
  private let tasks: ProcReader
  private let scratch: Scratch

  /// - Parameter tasks: an open `/proc/self/task`, through which a file is opened faster; -1 for none.
  @_noLocks
  init(_ proc: ProcReader, tasks: Int32 = -1, scratch: Scratch) {
    self.proc = proc
    self.tasks = ProcReader(proc: tasks)
    self.scratch = scratch.secondHalf
  }

  /// Reads name, state, scheduling, and which of the signals below 32 are blocked: three system
  /// calls, half the time of the status file.
  ///
  /// - Returns: false if the thread has ended. If a thread's line cannot be read, it is not known to block any
  ///   signal.
  @_noLocks
  func read(_ record: ThreadRecord) -> Bool {
    let count = readFile("/stat", of: record.threadID)
    guard count > 0, let line = ThreadLine(scratch.bytes(count: count)) else {
      return count != -Int(ENOENT) && count != -Int(ESRCH) || proc.isMissing
    }
    record.set(line)
    return true
  }

  /// The stat file's line, in scratch memory; nil if it cannot be read.
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

  /// Reads all signals that the thread blocks.
  @_noLocks
  func readBlockedSignals(_ record: ThreadRecord) {
    let count = readFile("/status", of: record.threadID)
    var scanner = scratch.text(count: count > 0 ? count : 0)
    guard scanner.find("SigBlk:") else { return }
    record.fields.blockedSignals = scanner.hexadecimal()
    record.fields.knowsAllSignals = true
  }

  /// Reads the system call that a blocked thread waits in.
  ///
  /// Once it has been stopped, this would be the handler's futex call.
  @_noLocks
  func readSystemCall(_ record: ThreadRecord) {
    let count = readFile("/syscall", of: record.threadID)
    let text = scratch.text(count: count > 0 ? count : 0)
    record.setSystemCall(text.matches("running") ? text.line.prefix(0) : text.line)
  }
}
