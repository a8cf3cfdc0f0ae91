import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

/// Converters distinguish owners that look alike: processes in other PID namespaces with the same volume,
/// restarted containers, and the workers of a prefork server whose parent was killed.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct PlaceTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private var pending: [String] { directory.names("db/pending-serialized-dumps") }

  /// Truncates a locked file, as if the process had been killed during its capture.
  private func tear() throws -> ReportID {
    let name = try #require(pending.first { $0.hasSuffix(".locked") })
    let file = try FileHandle(
      forWritingTo: URL(fileURLWithPath: "\(database)/pending-serialized-dumps/\(name)"))
    try file.write(contentsOf: PendingDatabase.complete.dropLast(60))
    return try #require(PendingDumpName(fileName: name)).reportID
  }

  /// Processes the database here, or in a new PID namespace.
  private func process(inNamespace: Bool) throws -> [String] {
    let racer = try Racer(
      database: database, identifier: "HandlerOnlyVictim",
      through: inNamespace ? Racer.namespace : [])
    try racer.letGo()
    return try racer.lines().filter { !$0.contains(": left for now: its owner may still write") }
  }

  /// Whether the owner and the converter run in a namespace, and what the owner has done.
  static let places: [(Bool, Bool, String)] = [(true, false), (false, true), (true, true)]
    .flatMap { place in
      ["wait-and-abort", "close-all-and-wait"].map { (place.0, place.1, $0) }
    }

  @Test(arguments: places)
  func anOwnerInAnotherNamespaceIsSeen(
    ownerIsInside: Bool, converterIsInside: Bool, deed: String
  ) throws {
    let owner = try Racer(
      "HandlerOnlyVictim", [database, deed], through: ownerIsInside ? Racer.namespace : [])
    #expect(try owner.firstLine().hasPrefix("started "))
    let id = try tear()
    let before = pending
    #expect(try process(inNamespace: converterIsInside) == [])
    #expect(pending == before)
    owner.kill()
    _ = try owner.lines()
    let lines = try process(inNamespace: converterIsInside)
    #expect(lines.count == 1)
    #expect(lines.first?.tellsReport(id) == true, "\(lines)")
    #expect(pending == [])
  }

  @Test func anOwnerInAnotherTimeNamespaceIsAlive() throws {
    let owner = try Racer("HandlerOnlyVictim", [database, "wait-and-abort"])
    #expect(try owner.firstLine().hasPrefix("started "))
    let id = try tear()
    let shifted = ["/usr/bin/unshare", "--time", "--boottime", "1000000", "--fork"]
    func processShifted() throws -> [String] {
      let racer = try Racer(
        database: database, identifier: "HandlerOnlyVictim", through: shifted)
      try racer.letGo()
      return try racer.lines()
    }
    let left = try processShifted()
    #expect(left.count == 1 && left[0].contains(": left for now: its owner may"), "\(left)")
    owner.kill()
    _ = try owner.lines()
    let taken = try processShifted()
    #expect(taken.count == 1 && taken[0].tellsReport(id), "\(taken)")
    #expect(pending == [])
  }

  /// On overlayfs, no other process can see that an owner still maps its file.
  @Test func onAnOverlayAClosedFIFOIsNoProofOfDeathEither() async throws {
    let script = """
      set -e
      mount -t tmpfs none . && cd . && cd "$PWD"
      mkdir low up work merged
      mount -t overlay none -o lowerdir=low,upperdir=up,workdir=work merged
      mkfifo gate
      "$1" merged/db close-all-and-wait <gate >out &
      exec 3>gate
      while ! grep -q started out; do sleep 0.05; done
      unshare --pid --fork --mount-proc "$2" process --database merged/db --identifier HandlerOnlyVictim </dev/null
      echo files $(ls merged/db/pending-serialized-dumps | wc -l)
      exec 3>&-
      wait || true
      "$2" process --database merged/db --identifier HandlerOnlyVictim </dev/null
      echo files $(ls merged/db/pending-serialized-dumps | wc -l)
      """
    let child = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c", script, "sh",
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        try BuiltProducts.besideTests("crash-lab"),
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    let lines = child.standardOutput.split(separator: "\n")
    #expect(lines.count == 3, "\(child.standardOutput) \(child.standardError)")
    #expect(lines.first == "files 3" && lines.last == "files 0")
    #expect(lines.dropFirst().first?.tellsAWholeDump == true, "\(lines)")
  }

  /// A crash loop under a supervisor that restarts a container each time: each process converts on one thread and
  /// crashes on another one, usually during the conversion.
  @Test func aCrashLoopOfContainersLeavesNothingClaimed() throws {
    var lines: [String] = []
    for _ in 0..<15 {
      let start = try Racer(
        processingItself: "crash-while-processing", database: database, inNamespace: true)
      lines += try start.lines()
    }
    // The dumps that dead converters had claimed are converted now, once each.
    lines += try process(inNamespace: true)
    #expect(pending == [])
    let reports = try CrashReportDatabase(path: database).reports()
    #expect(reports.filter { $0.state == .pending }.count == 15, "\(lines)")
    #expect(try process(inNamespace: true) == [])
  }

  @Test func aRestartedContainerFindsWhatItsPredecessorLeft() throws {
    let first = try Racer(processingItself: "wait-and-abort", database: database, inNamespace: true)
    #expect(try first.line(with: "started") == "started 1")
    let id = try tear()
    first.kill()
    _ = try first.lines()
    // The second process has the same process ID in another namespace, on the same volume.
    let second = try Racer(processingItself: "exit", database: database, inNamespace: true)
    let lines = try second.lines()
    #expect(lines.count == 3)
    #expect(lines.contains { $0.tellsReport(id) }, "\(lines)")
    #expect(lines.last == "started 1")
  }

  @Test func twoContainersOfOneVolumeLeaveEachOtherAlone() throws {
    let first = try Racer(processingItself: "wait-and-abort", database: database, inNamespace: true)
    #expect(try first.line(with: "started") == "started 1")
    // The second program also has process ID 1. It processes dumps when it starts, and crashes.
    let second = try Racer(
      processingItself: "wait-and-abort", database: database, inNamespace: true)
    #expect(try second.line(with: "started") == "started 1")
    try second.letGo()
    #expect(try second.lines() == ["crashing 1"])
    let third = try Racer(processingItself: "exit", database: database, inNamespace: true)
    let lines = try third.lines()
    #expect(lines.filter { $0.tellsAWholeDump }.count == 1, "\(lines)")
    // The first process still has its file: it prints its crash, or exits with 99.
    try first.letGo()
    #expect(try first.lines() == ["crashing 1"])
    #expect(try process(inNamespace: false).count == 1)
    #expect(try CrashReportDatabase(path: database).reports().count == 2)
  }

  @Test(arguments: [false, true])
  func aPreforkServersFileIsTakenWhenItsParentIsDeadThoughWorkersLive(inNamespace: Bool) throws {
    let server = try Racer("HandlerOnlyVictim", [database, "prefork"])
    var lines: [String] = []
    while lines.filter({ $0.hasPrefix("worker ") }).count < 2 || !lines.contains("forked") {
      lines.append(try server.firstLine())
    }
    let id = try tear()
    #expect(try process(inNamespace: inNamespace) == [], "the parent lives")
    server.kill()
    // The server's output does not end with it, because its workers hold the other end of the pipe.
    let workers = Set(lines.compactMap { $0.hasPrefix("worker ") ? $0.dropFirst(7) : nil })
    server.waitForZombie()
    let taken = try process(inNamespace: inNamespace)
    #expect(taken.count == 1)
    #expect(taken.first?.tellsReport(id) == true, "\(taken)")
    #expect(pending == [])
    try server.letGo()
    let crashes = try server.lines()
    #expect(Set(crashes.map { $0.dropFirst("crashing ".count) }) == workers)
    // The workers are not children of this process, so it cannot wait for them.
    var reports: [String] = []
    while reports.count < 2 { reports += try process(inNamespace: inNamespace) }
    #expect(reports.count == 2 && reports.allSatisfy { $0.tellsAWholeDump }, "\(reports)")
  }
}
