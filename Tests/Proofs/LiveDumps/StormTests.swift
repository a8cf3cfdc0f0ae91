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

/// A process gets every signal that the handler uses, at random, with and without the values that they should
/// carry.
///
/// Runs a few processes, or the number in `POSTMORTEM_STORMS`.
@Suite struct StormTests {
  private enum Noise: CaseIterable {
    case request, requestOfAllThreads, stopWithoutRequest, watchdog, setID, pause, order, dump,
      priority
  }

  /// The crash signals that another process may send.
  private static let crashSignals = [
    SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXCPU,
  ]

  private static let processes =
    ProcessInfo.processInfo.environment["POSTMORTEM_STORMS"].flatMap(Int.init) ?? 8

  /// Sends up to three crash signals, some close together: one of them ends the process and leaves one report.
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
      // If the main thread crashes while it takes a dump of its own process, it abandons the dump; this can
      // happen once.
      let torn = reports.filter { !$0.capture.isComplete }
      #expect(torn.count <= 1 && torn.allSatisfy { $0.request?.kind == .program }, what)
    }
  }

  /// A thread that disturbs a process until `finish` is called.
  private final class Storm: Sendable {
    private let process: Int32
    /// A descriptor of the process: it never refers to another process, however late a signal is sent.
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
        // Writing to a process that has ended raises SIGPIPE, in this thread only.
        var brokenPipe = sigset_t()
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, nil)
        var random = SeededGenerator(seed: seed)
        // The victim prints each order again, and the test does not read its output: 1,000 orders fit into the
        // pipe.
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

    /// Does nothing once the process has ended.
    private func send(_ signal: Int32, _ value: UInt64 = 0) {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&entry, 1, 0) == 0 else { return }
      _ = pm_queue_signal(process, process, signal, value)
    }

    /// glibc's SIGSETXID, with which a crash stops threads that block all other signals.
    private static let setID: Int32 = 33

    func finish() {
      isOver.store(true, ordering: .relaxed)
      ended.wait()
    }
  }
}
