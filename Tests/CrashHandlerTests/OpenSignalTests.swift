import CrashTestSupport
import Dispatch
import Glibc
import Testing

@testable import CrashHandler

/// The kernel's masks of threads that block crash signals; each test runs in a separate process.
///
/// EndToEndTests tests the masks and signals that a program sees.
@Suite struct OpenSignalTests {
  private static func set(_ signals: Int32...) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    return set
  }

  private static func block(_ signals: sigset_t) {
    var signals = signals
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// The mask as a program reads it.
  private static func isBlocked(_ signal: Int32) -> Bool {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    return unsafe sigismember(&mask, signal) == 1
  }

  @Test func theThreadThatStartsTheHandlerAndThoseToComeBlockNoneOfThemInTheKernel() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.block(Self.set(SIGSEGV, SIGABRT, SIGUSR1))
      #expect(SignalMask.has(SignalMask.current, SIGSEGV))
      try startHandler(database: database)
      let kept = OpenSignals.all
      for mask in [SignalMask.current, TestThread { SignalMask.current }.join()] {
        #expect(mask & kept == 0 && SignalMask.has(mask, SIGUSR1))
      }
      #expect(Self.isBlocked(SIGSEGV) && Self.isBlocked(SIGABRT) && !Self.isBlocked(SIGBUS))
      #expect(TestThread { Self.isBlocked(SIGSEGV) && !Self.isBlocked(SIGBUS) }.join())
      var all = sigset_t()
      unsafe sigfillset(&all)
      Self.block(all)
      #expect(SignalMask.current & kept == 0 && Self.isBlocked(SIGBUS))
      // A Dispatch worker blocks SIGABRT.
      let done = DispatchSemaphore(value: 0)
      DispatchQueue(label: "worker").async {
        #expect(SignalMask.current & kept == 0 && Self.isBlocked(SIGABRT))
        done.signal()
      }
      done.wait()
    }
  }

  @Test func threadsThatExistAreOpenedWhereASignalReachesThem() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let (isThere, isWanted) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let thread = TestThread {
        Self.block(Self.set(SIGSEGV, SIGABRT))
        isThere.signal()
        isWanted.wait()
        return (SignalMask.current, Self.isBlocked(SIGSEGV) && Self.isBlocked(SIGABRT))
      }
      isThere.wait()
      try startHandler(database: database)
      isWanted.signal()
      let (mask, isAsBefore) = thread.join()
      #expect(mask & OpenSignals.all == 0 && isAsBefore)
    }
  }

  @Test func switchedOffMasksAreTheKernels() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      var options = HandlerOptions()
      options.keepsCrashSignalsOpen = false
      try startHandler(database: database, options: options)
      Self.block(Self.set(SIGSEGV, SIGABRT))
      #expect(SignalMask.has(SignalMask.current, SIGSEGV) && Self.isBlocked(SIGSEGV))
      #expect(TestThread { SignalMask.has(SignalMask.current, SIGABRT) }.join())
    }
  }

  @Test func aSignalThatIsIgnoredOrAnothersHandlersIsNotKeptOpen() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      signal(SIGTRAP, SIG_IGN)
      try startHandler(database: database)
      signal(SIGABRT, { _ in })
      Self.block(Self.set(SIGTRAP, SIGABRT, SIGSEGV))
      let mask = SignalMask.current
      #expect(SignalMask.has(mask, SIGTRAP) && SignalMask.has(mask, SIGABRT))
      #expect(!SignalMask.has(mask, SIGSEGV))
    }
  }

  @Test func statusNamesThreadsAndHandlersThatBlockSuchSignalsAllTheSame() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let handler = try startHandler(database: database)
      #expect(handler.status.findings.isEmpty, "\(handler.status)")
      SignalMask.block(SignalMask.bit(SIGBUS))
      var action = sigaction()
      action.sa_mask = Self.set(SIGFPE, SIGUSR2)
      unsafe action.__sigaction_handler.sa_handler = { _ in }
      unsafe sigaction(SIGUSR1, &action, nil)
      let findings = handler.status.findings
      #expect(findings.map(\.code) == [.blocked, .blockedInHandler], "\(findings)")
      #expect(findings.last?.signal == SIGUSR1)
      #expect(findings.last?.description.contains("blocks SIGFPE while") == true, "\(findings)")
    }
  }
}
