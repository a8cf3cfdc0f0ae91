import CSignalSafe
import CrashTestSupport
import Dispatch
import Glibc
import Testing

@testable import CrashHandler

/// The masks of threads that ask to block crash signals; each test runs in a separate process.
///
/// EndToEndTests tests the signals that a program sees.
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

  /// Blocks no signal: the thread that runs a test may block most of them.
  private static func openAll() {
    var none = set()
    unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  private static func bits(_ signals: Int32...) -> UInt64 {
    signals.reduce(0) { $0 | SignalMask.bit($1) }
  }

  private static func all() -> sigset_t {
    var set = sigset_t()
    unsafe sigfillset(&set)
    return set
  }

  /// The mask as a program reads it, which is the kernel's.
  private static var mask: UInt64 {
    var set = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
    let word = unsafe withUnsafeBytes(of: &set) { unsafe $0.load(as: UInt64.self) }
    #expect(word == SignalMask.current)
    return word
  }

  @Test func faultsAreOpenInTheThreadThatStartsTheHandlerAndInThoseToCome() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.openAll()
      Self.block(Self.set(SIGSEGV, SIGABRT, SIGUSR1))
      #expect(SignalMask.has(Self.mask, SIGSEGV))
      try startHandler(database: database)
      #expect(Self.mask == Self.bits(SIGABRT, SIGUSR1))
      #expect(TestThread { Self.mask }.join() == Self.bits(SIGABRT, SIGUSR1))
      Self.block(Self.all())
      #expect(Self.mask & CrashSignals.faults == 0)
      #expect(SignalMask.has(Self.mask, SIGABRT) && SignalMask.has(Self.mask, SIGPROF))
      #expect(TestThread { Self.mask }.join() == Self.mask)
    }
  }

  /// As in the handler of such a signal.
  @Test func aFaultThatTheKernelBlocksStaysBlockedIfTheThreadAsksForIt() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.openAll()
      try startHandler(database: database)
      SignalMask.block(Self.bits(SIGSEGV))
      Self.block(Self.set(SIGSEGV, SIGBUS))
      #expect(Self.mask == Self.bits(SIGSEGV))
      var set = Self.set(SIGBUS, SIGUSR1)
      unsafe pthread_sigmask(SIG_SETMASK, &set, nil)
      #expect(Self.mask == Self.bits(SIGUSR1))
      Self.block(Self.set(SIGSEGV))
      #expect(Self.mask == Self.bits(SIGUSR1))
    }
  }

  /// Before glibc 2.41, libc's abort unblocks SIGABRT by itself.
  @Test func aWorkersMaskIsTheOneThatItAsksForButForSIGABRTIfLibcNeedsThat() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      try startHandler(database: database)
      let done = DispatchSemaphore(value: 0)
      DispatchQueue(label: "worker").async {
        let isOpen = pm_abort_opens_its_signal() == 0
        #expect(SignalMask.has(Self.mask, SIGABRT) == !isOpen)
        #expect(Self.mask | Self.bits(SIGABRT) == pm_worker_mask())
        #expect(pm_is_open_worker(Self.mask) == isOpen)
        // A program that opens SIGABRT there, or blocks it, does not look like a worker that was opened.
        var set = Self.set(SIGABRT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        #expect(!SignalMask.has(Self.mask, SIGABRT) && !pm_is_open_worker(Self.mask))
        Self.block(set)
        #expect(SignalMask.has(Self.mask, SIGABRT) && !pm_is_open_worker(Self.mask))
        done.signal()
      }
      done.wait()
    }
  }

  @Test func threadsThatExistAreOpenedWhereASignalReachesThem() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.openAll()
      let (isThere, isWanted) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let thread = TestThread {
        Self.block(Self.set(SIGSEGV, SIGABRT))
        isThere.signal()
        isWanted.wait()
        return Self.mask
      }
      isThere.wait()
      try startHandler(database: database)
      isWanted.signal()
      #expect(thread.join() == Self.bits(SIGABRT))
    }
  }

  @Test func switchedOffMasksAreTheKernels() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.openAll()
      var options = HandlerOptions()
      options.keepsCrashSignalsOpen = false
      try startHandler(database: database, options: options)
      Self.block(Self.set(SIGSEGV, SIGABRT))
      #expect(Self.mask == Self.bits(SIGSEGV, SIGABRT))
      #expect(TestThread { Self.mask }.join() == Self.bits(SIGSEGV, SIGABRT))
    }
  }

  @Test func aSignalThatIsIgnoredPendingOrHandledByTheProgramIsNotKeptOpen() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      Self.openAll()
      signal(SIGTRAP, SIG_IGN)
      signal(SIGBUS, { _ in })
      Self.block(Self.set(SIGILL))
      raise(SIGILL)
      try startHandler(database: database)
      signal(SIGFPE, { _ in })
      Self.block(Self.set(SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS))
      #expect(Self.mask == Self.bits(SIGILL, SIGTRAP, SIGBUS, SIGFPE))
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
