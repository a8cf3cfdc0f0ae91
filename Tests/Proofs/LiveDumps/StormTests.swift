import CSignalSafe
import CrashCatalogue
import CrashConverter
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Synchronization
import Testing

/// A process that gets every signal of ours at random, with and without what they should carry.
///
/// A few processes, or as many as `POSTMORTEM_STORMS` says.
@Suite struct StormTests {
  private enum Noise: CaseIterable {
    case request, requestOfAllThreads, stopWithoutRequest, watchdog, setID, pause, order, dump,
      priority
  }

  /// Those that somebody else may send.
  private static let crashSignals = [
    SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXCPU,
  ]

  private static let processes =
    ProcessInfo.processInfo.environment["POSTMORTEM_STORMS"].flatMap(Int.init) ?? 8

  /// Up to three crash signals, some close together: the end is by one of them, with one report of it.
  @Test func everyCrashIsOneReportOfItsSignal() async throws {
    for _ in 0..<Self.processes {
      let seed = UInt64.random(in: .min ... .max)
      var random = SeededGenerator(seed: seed)
      let victim = try await LiveVictim()
      let running = try victim.start("live-dump", "obeying")
      try running.waitForLine("ready")
      let noises = Array(
        Noise.allCases.shuffled(using: &random).prefix(.random(in: 1...5, using: &random)))
      let crashes = Array(
        Self.crashSignals.shuffled(using: &random).prefix(.random(in: 1...3, using: &random)))
      let storm = try Storm(victim, running, noises, seed: random.next())
      usleep(.random(in: 0..<50_000, using: &random))
      for crash in crashes {
        running.signal(crash)
        if Bool.random(using: &random) { usleep(.random(in: 0..<4_000, using: &random)) }
      }
      let end = running.waitForEnd()
      storm.finish()
      let what: Comment = "\(noises) \(crashes) ended by \(end), seed \(seed)"
      #expect(crashes.contains(end), what)
      _ = try await victim.process()
      let reports = try victim.reports().map { try victim.snapshot(of: $0) }
      #expect(reports.filter { $0.request == nil }.map { $0.exception?.signal } == [end], what)
      // A dump of the process's own is given up for the crash of the thread that takes it: its main
      // thread's, one at most.
      let torn = reports.filter { !$0.capture.isComplete }
      #expect(torn.count <= 1 && torn.allSatisfy { $0.request?.kind == .program }, what)
    }
  }

  /// A thread that disturbs a process until it is told to finish.
  private final class Storm: Sendable {
    private let process: Int32
    /// Never stands for another process, however late a signal is sent.
    private let descriptor: Int32
    private let signals: OwnerSignals
    private let isOver = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ victim: LiveVictim, _ running: RunningVictim, _ noises: [Noise], seed: UInt64) throws {
      signals = try #require(try victim.runRecord().signals)
      process = running.processID
      descriptor = pm_open_process(process)
      try #require(descriptor >= 0)
      Thread.detachNewThread { [self] in
        // The order of a process that has ended raises it, in this thread alone.
        var brokenPipe = sigset_t()
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, nil)
        var random = SeededGenerator(seed: seed)
        // The victim says each order once more, and nobody reads it: so many have room in its pipe.
        for _ in 0..<1_000 where !isOver.load(ordering: .relaxed) {
          make(noises.randomElement(using: &random)!, running, &random)
          if Int.random(in: 0..<10, using: &random) < 7 {
            usleep(.random(in: 0..<4_000, using: &random))
          }
        }
        send(SIGCONT)
        ended.signal()
      }
    }

    deinit { close(descriptor) }

    private func make(_ noise: Noise, _ running: RunningVictim, _ random: inout SeededGenerator) {
      let stop = Int32(bitPattern: signals.stop)
      switch noise {
      case .request, .requestOfAllThreads:
        let request = CaptureRequest(
          number: .random(in: 1 ... .max, using: &random),
          stopsThreads: noise == .requestOfAllThreads)
        send(stop, request.value)
      case .stopWithoutRequest: send(stop, 5)
      case .watchdog: send(Int32(bitPattern: signals.watchdog))
      case .setID: send(Self.setID)
      case .pause:
        send(SIGSTOP)
        usleep(.random(in: 0..<4_000, using: &random))
        send(SIGCONT)
      case .order: try? running.send("storm")
      case .dump: try? running.send("dump")
      case .priority:
        setpriority(
          __priority_which_t(PRIO_PROCESS.rawValue), id_t(process),
          .random(in: 0...19, using: &random))
      }
    }

    /// Fails once the process has ended.
    private func send(_ signal: Int32, _ value: UInt64 = 0) {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&entry, 1, 0) == 0 else { return }
      _ = pm_queue_signal(process, process, signal, value)
    }

    /// glibc's SIGSETXID, by which a crash stops threads that block all else.
    private static let setID: Int32 = 33

    func finish() {
      isOver.store(true, ordering: .relaxed)
      ended.wait()
    }
  }
}
