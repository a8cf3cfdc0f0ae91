internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
package import PendingDumps

/// Runs work on a new thread, which blocks all signals except SIGABRT, SIGPROF, those of faults, and the one that stops
/// threads.
///
/// Another thread of the program then gets these signals. The signal mask of the calling thread never changes, so there
/// is nothing to restore: the new mask ends with the new thread.
package enum WorkThread {
  /// Runs work on a new thread, and waits for it.
  ///
  /// - Throws: `CrashReportDatabaseError` if a thread cannot be created; the work is then not run.
  package static func run<Value>(_ work: () -> Value) throws(CrashReportDatabaseError) -> Value {
    try withoutActuallyEscaping(work) { (work) throws(CrashReportDatabaseError) in
      var value: Value?
      pthread_join(try create(Body { value = work() }), nil)
      guard let value else {
        throw CrashReportDatabaseError(
          .fileSystemError, "a thread ended before it had done its work")
      }
      return value
    }
  }

  /// Starts work on a new thread.
  ///
  /// - Throws: `CrashReportDatabaseError` if a thread cannot be created; the work is then not run.
  package static func start(
    _ work: @escaping @Sendable () -> Void
  ) throws(CrashReportDatabaseError) {
    pthread_detach(try create(Body(work)))
  }

  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private static func create(_ body: Body) throws(CrashReportDatabaseError) -> pthread_t {
    let retained = unsafe Unmanaged.passRetained(body)
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { argument in
        WorkThread.blockSignals()
        if let argument = unsafe argument {
          unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, retained.toOpaque())
    guard failure == 0 else {
      unsafe retained.release()
      throw CrashReportDatabaseError(systemCall: "making a thread", errno: failure)
    }
    return thread
  }

  private static func blockSignals() {
    var set = sigset_t()
    unsafe sigfillset(&set)
    // SIGPROF stays open, because libdispatch's workers that this thread starts inherit its mask, and leave it open.
    let open = SignalTable.numbers(.fault) + [SIGABRT, SIGPROF, pm_stop_signal()]
    for signal in open where signal != 0 { unsafe sigdelset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
