import CrashAnalysis
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

/// How the handler stops other threads, observed in its system calls.
@Suite struct StopTests {
  #if arch(x86_64)
    private static let (futex, listing) = (202, 217)
  #else
    private static let (futex, listing) = (98, 61)
  #endif
  /// The values of FUTEX_WAIT and FUTEX_WAKE with the private flag.
  private static let (wait, wake): (UInt64, UInt64) = (128, 129)

  private static func crowd(_ sleepers: Int, _ condition: String...) -> Scene {
    Scene(
      kind: "null-read", sleepers: sleepers,
      more: ["--no-summary"] + condition.flatMap { ["--condition", $0] })
  }

  @Test func onlyTheLastOneToStopWakesTheThreadThatCaptures() async throws {
    let run = try await InjectedRun(Self.crowd(64), .none)
    #expect(run.hasCompleteReport)
    let wakes = run.report.calls.count {
      $0.role == .other && $0.number == Self.futex && $0.arguments[1] == Self.wake
    }
    #expect(wakes <= 2)
  }

  /// The indices, among all calls, of the first call of each listing of threads or descriptors.
  ///
  /// A listing ends when the handler closes the directory. A listing makes two calls, or more if a signal is pending,
  /// because the kernel then returns only the entries that it has written so far.
  /// Source: Linux fs/readdir.c, filldir64.
  private static func listings(_ run: InjectedRun) -> [Int] {
    var starts: [Int] = []
    var directory: UInt64?
    for (index, call) in run.report.calls.enumerated() where call.role == .crashing {
      if call.number == listing, call.arguments[0] != directory {
        starts.append(index)
        directory = call.arguments[0]
      } else if let open = directory, closes(call, open) {
        directory = nil
      }
    }
    return starts
  }

  private static func closes(_ call: InjectorReport.Call, _ descriptor: UInt64) -> Bool {
    switch SystemCallNames.name(call.number) {
    case "close": call.arguments[0] == descriptor
    case "close_range": call.arguments[0] <= descriptor && descriptor <= call.arguments[1]
    default: false
    }
  }

  /// The indices of the calls with which threads stop.
  private static func stops(_ run: InjectedRun) throws -> [Int] {
    let calls = run.report.calls
    // A stopping thread's first call is the first one that the handler makes on that thread.
    let number = try #require(calls.first { $0.role == .other }).number
    return calls.indices.filter { calls[$0].role == .other && calls[$0].number == number }
  }

  @Test func threadsThatAllStandStillAreCountedAndNotListedAgain() async throws {
    let alone = try await InjectedRun(Self.crowd(0), .none)
    let run = try await InjectedRun(Self.crowd(64), .none)
    #expect(Self.listings(run).count == Self.listings(alone).count)
    let stops = try Self.stops(run)
    try #require(stops.count >= 64)
    let directory = run.report.calls[try #require(Self.listings(run).first)].arguments[0]
    #expect(
      run.report.calls[stops[63]...].contains {
        $0.role == .crashing && SystemCallNames.name($0.number) == "fstat"
          && $0.arguments[0] == directory
      })
  }

  @Test func threadsAreListedAgainOnceAllThatCanStandStillDoWhereOneDoesNot() async throws {
    let alone = try await InjectedRun(Self.crowd(0), .none)
    let run = try await InjectedRun(Self.crowd(64, "deaf-threads"), .none)
    let listings = Self.listings(run)
    #expect(listings.count == Self.listings(alone).count + 1)
    let second = try #require(listings.dropFirst().first)
    let stops = try Self.stops(run)
    try #require(stops.count >= 64)
    #expect(stops[63] < second)
  }

  @Test func threadsThatBlockAllThatLibcLetsThemAreStoppedThoseClosedToItAreRead() async throws {
    let run = try await InjectedRun(Self.crowd(0, "deaf-threads"), .none)
    #expect(run.hasCompleteReport)
    let waits = run.report.calls.count {
      $0.role == .crashing && $0.number == Self.futex && $0.arguments[1] == Self.wait
    }
    // A thread that waits with every signal blocked gets 20 rounds, and one that runs 250; see
    // `ThreadStopper.waitUntilStopped`. On a slow machine, the other threads add rounds.
    #expect(waits < 125)
    let threads = try #require(run.reports.snapshots.first).threads
    let deaf = threads.filter { $0.name == "deaf" }
    #expect(deaf.count == 2)
    // Only the threads that block all other signals get SIGSETXID.
    #expect(Self.signals(run) == [33, 33])
    #expect(deaf.allSatisfy { $0.captureMethod == .stopped && $0.context != nil })
    let closed = threads.filter { $0.name == "closed" }
    #expect(closed.count == 2)
    #expect(closed.allSatisfy { $0.captureMethod == .kernel && !$0.stack.isEmpty })
  }

  /// The stop signals that the crashing thread sent.
  private static func signals(_ run: InjectedRun) -> [UInt64] {
    run.report.calls.filter {
      $0.role == .crashing && SystemCallNames.name($0.number) == "tgkill" && $0.arguments[2] != 0
    }.map { $0.arguments[2] }
  }

  @Test func eachThreadIsStoppedBySIGPROF() async throws {
    let run = try await InjectedRun(Self.crowd(8), .none)
    let roles = Dictionary(grouping: run.report.calls, by: \.role).mapValues(\.count)
    #expect(
      Self.signals(run) == [UInt64](repeating: 27, count: 8), "\(run.reports.processed) \(roles)")
  }

  /// This test does not use the injector, because under it a tick of the handler's timer may wake a sleeper.
  ///
  /// For a signal to the process, the kernel skips a thread that its tracer has stopped, and chooses another one.
  /// Source: Linux kernel/signal.c, wants_signal.
  @Test func nameStateAndSchedulingAreThoseBeforeTheStop() async throws {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    _ = try await ChildProcess.run(
      victim, ["null-read", "--database", directory.path + "/database", "--threads", "8"],
      in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    let reports = try ReportDirectory(directory.path + "/database")
    let threads = try #require(reports.snapshots.first).threads.dropFirst()
    #expect(threads.count == 8)
    #expect(Set(threads.compactMap(\.name)) == Set((1...8).map { "sleeper-\($0)" }))
    #expect(
      threads.allSatisfy {
        $0.state == "S" && $0.niceValue == 0 && $0.schedulingPolicy == 0
          && $0.systemCall != nil && $0.captureMethod == .stopped
      }, "\(threads.map { ($0.state, $0.systemCall, $0.captureMethod) })")
  }

  @Test func aThreadWhoseSignalsLibcBlocksIsStoppedOnceItHasHadItsProcessor() async throws {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    _ = try await ChildProcess.run(
      victim,
      ["null-read", "--database", directory.path + "/database", "--condition", "starved-thread"],
      in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    let starved = try #require(threads.first { $0.name == "starved" })
    #expect(starved.captureMethod == .stopped && starved.context != nil)
  }

  @Test func aSignalThatIsRefusedOnceIsSentAgain() async throws {
    let scene = Self.crowd(3)
    let calm = try await InjectedRun(scene, .none)
    let signals = calm.report.calls.filter {
      $0.role == .crashing && SystemCallNames.name($0.number) == "tgkill"
    }
    let first = try #require(signals.first)
    for errno: Int32 in [11, 4] {  // EAGAIN, EINTR
      // A tick of the watchdog's timer, which comes at any time, moves the calls after it.
      var failures = 0
      for _ in 0..<20 where failures == 0 {
        let run = try await InjectedRun(scene, .failure(.crashing, first.index, errno: errno))
        failures = run.report.failures
        try Self.expectAllStopped(run.reports)
      }
      #expect(failures == 1)
    }
  }

  @Test(arguments: ["no-pending-signals", "full-signal-queue"], ["null-read", "fatal-error"])
  func noRoomForRealTimeSignalsAllThreadsStopAllTheSame(_ condition: String, _ kind: String)
    async throws
  {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      victim,
      [
        kind, "--database", directory.path + "/database", "--threads", "8", "--condition",
        condition,
      ], in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal != nil)
    try Self.expectAllStopped(try ReportDirectory(directory.path + "/database"))
  }

  private static func expectAllStopped(_ reports: ReportDirectory) throws {
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    #expect(threads.count > 3)
    #expect(threads.dropFirst().allSatisfy { $0.captureMethod == .stopped && $0.context != nil })
  }
}
