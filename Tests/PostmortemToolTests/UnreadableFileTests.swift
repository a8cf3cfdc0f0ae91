import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

/// One file of a report cannot be read: the commands name it, and list, prune and upload the other reports.
///
/// `swift run proofs kills` tests disk errors.
@Suite struct UnreadableFileTests {
  /// What replaces the file.
  enum Obstacle: String, CaseIterable, CustomTestStringConvertible {
    /// A directory in place of a minidump, or of its metadata.
    case directory, metadataDirectory
    /// A file that only its owner, another user, can read.
    case foreign, foreignMetadata

    var testDescription: String { rawValue }
    var isMetadata: Bool { self == .metadataDirectory || self == .foreignMetadata }
  }

  private let dumps: PendingDatabase
  private var database: String { dumps.path }
  /// Root can read everything, so the command runs as user 65534.
  private static let asUser =
    getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

  init() throws {
    dumps = try PendingDatabase()
  }

  private func tool(_ words: String...) async throws -> ChildProcess { try await tool(words) }

  /// Makes four reports, one of which has the obstacle.
  ///
  /// - Returns: the path of the replaced file, its report, and the other reports.
  private func reports(
    _ obstacle: Obstacle
  ) async throws -> (path: String, bad: ReportID, good: Set<ReportID>) {
    let ids = try (0..<4).map { try dumps.putDump(age: Double($0)) }
    try #require(unsafe chmod(database, 0o755) == 0)
    if getuid() == 0 {
      let status = unsafe system("chown -R 65534:65534 '\(database)'")
      try #require(status == 0)
    }
    try #require(try await tool("process", "-d", database).end.exitCode == 0)
    let path = "\(database)/pending/\(ids[1]).\(obstacle.isMetadata ? "meta" : "dmp")"
    switch obstacle {
    case .directory, .metadataDirectory:
      try FileManager.default.removeItem(atPath: path)
      try #require(unsafe mkdir(path, 0o700) == 0)
    case .foreign, .foreignMetadata:
      if getuid() == 0 { try #require(unsafe chown(path, 0, 0) == 0) }
      try #require(unsafe chmod(path, getuid() == 0 ? 0o600 : 0) == 0)
    }
    return (path, ids[1], Set(ids).subtracting([ids[1]]))
  }

  private func expect(_ run: ChildProcess, names path: String) {
    #expect(run.end.exitCode == 2, "\(run)")
    #expect(run.standardError.contains(path), "\(run)")
  }

  @Test(arguments: Obstacle.allCases)
  func listGoesOnAndNamesIt(_ obstacle: Obstacle) async throws {
    let (path, bad, good) = try await reports(obstacle)
    for words in [[], ["--json"], ["--group"]] {
      try FileManager.default.removeItem(atPath: database + "/reports.index")
      let run = try await tool(["list", "-d", database] + words)
      expect(run, names: path)
      guard words != ["--group"] else { continue }
      for id in good { #expect(run.standardOutput.contains("\(id)"), "\(run)") }
      // Whatever can still be read of the report is listed.
      let isListed = obstacle != .directory
      #expect(run.standardOutput.contains("\(bad)") == isListed, "\(run)")
    }
    // `stats` counts files without reading them.
    if obstacle != .foreign { expect(try await tool("stats", "-d", database), names: path) }
    let shown = try await tool("show", "-d", database)
    #expect(shown.end.exitCode == 0, "\(shown)")
  }

  private func tool(_ words: [String]) async throws -> ChildProcess {
    let command = Self.asUser + [try BuiltProducts.besideTests("postmortem")] + words
    return try await ChildProcess.run(command[0], Array(command.dropFirst()), in: "/tmp")
  }

  @Test(arguments: Obstacle.allCases)
  func pruneGoesOnAndNamesIt(_ obstacle: Obstacle) async throws {
    let (path, bad, good) = try await reports(obstacle)
    let tried = try await tool("prune", "-d", database, "--size", "0", "--dry-run")
    // A file need not be readable to be removed.
    if obstacle != .foreign { expect(tried, names: path) }
    let run = try await tool("prune", "-d", database, "--size", "0")
    if obstacle != .foreign, obstacle != .foreignMetadata { expect(run, names: path) }
    let left = try FileManager.default.contentsOfDirectory(atPath: database + "/pending").filter {
      $0.hasSuffix(".dmp")
    }
    // The newest report is kept.
    #expect(left.filter { $0 != "\(bad).dmp" }.count <= 1, "\(left)")
    #expect(good.count { run.standardOutput.contains("\($0)") } >= 2, "\(run)")
  }

  @Test func anAttachmentsDirectoryOfAnotherUserStopsNoRemoval() async throws {
    let (_, bad, _) = try await reports(.foreignMetadata)
    let path = "\(database)/attachments/\(bad)"
    try #require(unsafe mkdir(path, 0) == 0)
    let run = try await tool("prune", "-d", database, "--size", "0", "--dry-run")
    expect(run, names: path)
    #expect(run.standardOutput.split(separator: "\n").count == 3, "\(run)")
  }

  @Test(arguments: Obstacle.allCases)
  func uploadGoesOnAndNamesIt(_ obstacle: Obstacle) async throws {
    let (path, _, good) = try await reports(obstacle)
    #expect(try await tool("upload", "-d", database, "--enable").end.exitCode == 0)
    let receiver = try UploadReceiver()
    let run = try await tool("upload", "-d", database, "--url", receiver.url)
    expect(run, names: path)
    let sent = Set(receiver.forms.compactMap { $0.fields["report_id"].flatMap { ReportID($0) } })
    #expect(sent == good, "\(run)")
    // The next upload does not send it either.
    expect(try await tool("upload", "-d", database, "--url", receiver.url), names: path)
    #expect(receiver.forms.count == good.count)
  }
}
