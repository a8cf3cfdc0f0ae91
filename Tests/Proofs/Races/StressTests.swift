import CrashCatalogue
import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import ProcessSnapshot
import Synchronization
import Testing

/// Eight processes of two programs that share a database crash, hang, are killed, fork and restart at random.
///
/// They run a few rounds, or for the seconds in `POSTMORTEM_STRESS_SECONDS`.
@Suite struct StressTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  /// What the test observed of the eight processes.
  private struct Tally {
    var runs = 0
    /// The IDs of the processes that announced a crash.
    var crashed: [UInt32] = []
    /// The IDs of the processes that announced a hang, and were killed.
    var hung: [UInt32] = []
    /// The IDs of the processes that announced their start, and were killed without another line.
    var killed: [UInt32] = []
    /// The IDs of the processes that crashed after they had executed themselves again.
    var replaced: [UInt32] = []
    var problems: [String] = []
  }

  /// What the reports contain; the test reads them during the run, because the oldest of some thousand reports
  /// are pruned.
  private struct Harvest {
    var crashed: [UInt32] = []
    var hung: [UInt32] = []
    var ended: [UInt32] = []
    private var seen: Set<ReportID> = []

    mutating func takeReports(of path: String) throws {
      for report in try CrashReportDatabase(path: path).reports() {
        guard report.state != .new, seen.insert(report.id).inserted else { continue }
        let bytes = try #require(FileManager.default.contents(atPath: report.path))
        let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
        #expect(snapshot.capture.isComplete)
        let process = try #require(snapshot.process.processID)
        if snapshot.end != nil {
          ended.append(process)
        } else if snapshot.request == nil {
          crashed.append(process)
        } else {
          hung.append(process)
        }
      }
    }
  }

  @Test func everyCrashIsOneReportAndNoLiveFileIsTaken() throws {
    let seconds = ProcessInfo.processInfo.environment["POSTMORTEM_STRESS_SECONDS"].flatMap(Int.init)
    let end = seconds.map { Date(timeIntervalSinceNow: TimeInterval($0)) }
    let seed = UInt64.random(in: .min ... .max)
    let tally = Mutex(Tally())
    let database = database
    let group = DispatchGroup()
    for worker in 0..<8 {
      group.enter()
      Thread.detachNewThread {
        var generator = SeededGenerator(seed: seed &+ UInt64(worker))
        var round = 0
        while end.map({ $0 > Date() }) ?? (round < 5) {
          round += 1
          do {
            try Self.run(database, worker, &generator, tally)
          } catch {
            tally.withLock { $0.problems.append("\(error)") }
          }
        }
        group.leave()
      }
    }
    var harvest = Harvest()
    var turns = 0
    while group.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
      turns += 1
      if turns % 64 == 0 { try harvest.takeReports(of: database) }
      let locks = try FileLocks.lines(naming: database)
      if !locks.isEmpty { tally.withLock { $0.problems += locks } }
    }
    // All crashed processes have ended, so the remaining dumps can be converted.
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    let result = tally.withLock { $0 }
    #expect(result.problems == [], "seed \(seed)")
    #expect(result.crashed.count > 8, "seed \(seed)")
    try harvest.takeReports(of: database)
    #expect(
      harvest.crashed.sorted() == result.crashed.sorted(), "\(result.runs) runs, seed \(seed)")
    // If the process was killed after its hang was dumped, the hang is one report. If it crashed, neither the
    // hang nor the end of the process is a report.
    let hung = Set(harvest.hung)
    #expect(hung.isSubset(of: result.hung) && hung.count == harvest.hung.count, "seed \(seed)")
    let ended = Set(harvest.ended).intersection(result.crashed)
    #expect(ended.isSubset(of: result.replaced), "seed \(seed)")
    // A program that crashes faster than its files are converted loses the oldest leftovers:
    // PendingDumpBound.maximumLeftovers. Forty runs stay below it.
    if seconds == nil { #expect(Set(result.killed).isSubset(of: harvest.ended), "seed \(seed)") }
    if seconds != nil { #expect(!hung.isEmpty) }
    print(
      "\(result.runs) runs, \(harvest.crashed.count) crashes, \(hung.count) hangs, "
        + "\(harvest.ended.count) ends")
    // If a run was killed between creating its FIFO and its locked file, a conversion removes the FIFO only after
    // an hour: the process could still be starting.
    let left = directory.names("db/pending-serialized-dumps")
    #expect(left.filter { !$0.hasSuffix(".fifo") && !$0.hasSuffix(".run") } == [])
    #expect(directory.names("db/quarantine") == [])
  }

  private static func run(
    _ database: String, _ worker: Int, _ generator: inout SeededGenerator,
    _ tally: borrowing Mutex<Tally>
  ) throws {
    let deeds = [
      "exit", "abort", "killed", "child-crashes", "both-crash", "restart", "wait-and-abort",
      "impatient", "hang", "hang-and-abort",
    ]
    let deed = deeds[Int(generator.next() % UInt64(deeds.count))]
    let isImpatient = deed == "impatient"
    let name = isImpatient ? "wait-and-abort" : deed
    let hasConverter = !worker.isMultiple(of: 2)
    let victim =
      hasConverter
      ? try Racer(processingItself: name, database: database)
      : try Racer("HandlerOnlyVictim", [database, name])
    if isImpatient || deed == "wait-and-abort" {
      // The process lives for a while; then the test kills it, or lets it crash.
      usleep(UInt32(generator.next() % 60_000))
      if isImpatient { victim.kill() } else { try victim.letGo() }
    }
    let lines = try victim.lines()
    func numbers(_ prefix: String) -> [UInt32] {
      lines.compactMap { $0.hasPrefix(prefix) ? UInt32($0.dropFirst(prefix.count)) : nil }
    }
    let crashed = numbers("crashing ")
    let expected: [String: (signal: Int32?, crashes: Int)] = [
      "exit": (nil, 0), "abort": (SIGABRT, 1), "killed": (SIGKILL, 0), "child-crashes": (nil, 1),
      "both-crash": (SIGABRT, 2), "restart": (SIGABRT, 1), "wait-and-abort": (SIGABRT, 1),
      "impatient": (SIGKILL, 0), "hang": (SIGKILL, 0), "hang-and-abort": (SIGABRT, 1),
    ]
    tally.withLock { tally in
      tally.runs += 1
      tally.crashed += crashed
      if deed == "restart" { tally.replaced += crashed }
      if deed == "killed" || isImpatient { tally.killed += numbers("started ") }
      if deed == "hang" { tally.hung += numbers("hanging ") }
      if victim.endSignal != expected[deed]?.signal || crashed.count != expected[deed]?.crashes
        || (victim.endSignal == nil && victim.endStatus != 0)
      {
        tally.problems.append(
          "\(hasConverter ? "crash-lab" : "HandlerOnlyVictim") \(deed): \(victim.endStatus) \(lines)"
        )
      }
    }
  }
}
