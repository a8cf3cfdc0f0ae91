import Glibc
import Testing

@testable import CrashReportDatabase

@Suite struct WorkThreadTests {
  private static func blocked() -> Set<Int32> {
    var set = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
    return Set((1...31).filter { unsafe sigismember(&set, $0) == 1 })
  }

  /// Workers of libdispatch that the thread starts inherit its mask, and leave SIGPROF, which stops threads, open.
  @Test func eventsOfTheProgramGoToOtherThreads() throws {
    // A new thread inherits the mask, and this test may run on a worker.
    var (none, mask) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &mask)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &mask, nil) }
    let blocked = try WorkThread.run { Self.blocked() }
    #expect(blocked.isSuperset(of: [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGALRM, SIGTERM, SIGCHLD]))
    #expect(blocked.isDisjoint(with: [SIGPROF, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP]))
    #expect(Self.blocked().isEmpty)
  }
}
