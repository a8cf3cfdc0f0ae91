internal import CSignalSafe

/// Reads what the kernel tells of a thread, by way of the second half of scratch memory: the first
/// one is for the list of threads.
///
/// RUNS-DURING-CRASH. Source: proc_pid_status(5), proc_pid_syscall(5).
@safe
struct ThreadStatus {
  private let proc: ProcReader
  private let scratch: Scratch

  @_noLocks
  init(_ proc: ProcReader, scratch: Scratch) {
    self.proc = proc
    self.scratch = scratch.secondHalf
  }

  /// The status file's text; empty if it cannot be read.
  @_noLocks
  func text(of threadID: Int32) -> TextScanner {
    proc.text(ofTask: threadID, "status", in: scratch)
  }

  /// Reads name, state and blocked signals; false if the thread has ended.
  @_noLocks
  func read(_ record: ThreadRecord) -> Bool {
    var scanner = text(of: record.threadID)
    // Without /proc nobody is known to have ended.
    guard !scanner.isEmpty else { return proc.isMissing }
    if scanner.find("Name:") {
      record.setName(scanner.line)
      record.fields.isKernelWorker = scanner.matches("iou-")
    }
    if scanner.find("State:") { record.fields.stateLetter = scanner.current }
    if scanner.find("SigBlk:") { record.fields.blockedSignals = scanner.hexadecimal() }
    return true
  }

  /// Reads the system call that a blocked thread waits in; once it has been asked to stop, it would
  /// be one of our handler.
  @_noLocks
  func readSystemCall(_ record: ThreadRecord) {
    let scanner = proc.text(ofTask: record.threadID, "syscall", in: scratch)
    if scanner.matches("running") {
      record.removeSystemCall()
    } else {
      record.setSystemCall(scanner.line)
    }
  }
}
