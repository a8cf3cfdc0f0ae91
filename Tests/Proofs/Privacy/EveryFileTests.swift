import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Testing

/// Searches every file that this package writes for secrets, for each level and for each way in which a report is made.
@Suite(.serialized) struct EveryFileTests {
  /// How a report is made.
  enum Way: String, CaseIterable, Sendable {
    case crash, dump, hang
    /// `postmortem capture`.
    case capture
    /// A run that SIGKILL ended without a dump.
    case kill
    /// A core file, with `process --cores` or `watch --cores`.
    case processCores, watchCores
    /// A dump that cannot be read, in the quarantine.
    case quarantine

    var isCore: Bool { self == .processCores || self == .watchCores }

    /// Secrets that a full report of this kind holds, which shows that the search finds them.
    ///
    /// A core file has memory only. A run without a dump has the last breadcrumbs only.
    var isInFull: [String] {
      switch self {
      case .crash:
        [
          PlantedSecrets.argument, "yT3-crumb-Vb8Hn2", "bQ7-cT8xt-Tw2Jr5",
          "sk_live_wE5-stack-Nd2Lk8", PlantedSecrets.attached, PlantedSecrets.path,
        ] + PlantedSecrets.otherWork
      case .dump: [PlantedSecrets.argument, "rS6-reason-Wp4Hc9", "aN8-note-Jd5Qs3Xm"]
      case .hang: [PlantedSecrets.argument, "hM4-loop-Gx7Rb2", "sk_live_wE5-stack-Nd2Lk8"]
      case .capture: [PlantedSecrets.argument, "yT3-crumb-Vb8Hn2"]
      case .kill: ["yT3-crumb-Vb8Hn2", PlantedSecrets.locked]
      case .processCores, .watchCores: [PlantedSecrets.argument, "sk_live_wE5-stack-Nd2Lk8"]
      case .quarantine: []
      }
    }
  }

  /// The step that leaves secrets out, see Docs/Reference/ThreatModel.md.
  enum Step: Sendable {
    case none
    case handler(String)
    case conversion(String)
    case showing(String)

    /// The option of crash-lab for the handler's level.
    var ofHandler: [String] {
      if case .handler(let level) = self { ["--privacy", level] } else { [] }
    }
    var ofConversion: [String] {
      if case .conversion(let level) = self { [Self.option(level)] } else { [] }
    }
    var ofShowing: [String] {
      if case .showing(let level) = self { [Self.option(level)] } else { [] }
    }
    private static func option(_ level: String) -> String {
      level == "sanitized" ? "--sanitize" : "--no-memory"
    }
  }

  /// Where a file comes from, in the order in which a crash's data goes through these steps.
  private enum Place: Int {
    case dump = 1, database, form
  }

  /// The steps whose files hold no secret.
  private static func first(private step: Step) -> Place? {
    switch step {
    case .none: nil
    case .handler: .dump
    case .conversion: .database
    case .showing: .form
    }
  }

  /// The secrets that a file of a place may hold: the table of the guide (Docs/Guide/Privacy.md).
  ///
  /// No file holds environment variables, or parts of the program's file to which nothing points.
  private static func allowed(_ secret: String, _ place: Place, _ step: Step) -> Bool {
    if secret == PlantedSecrets.environment || PlantedSecrets.inFiles.contains(secret) {
      return false
    }
    guard let first = first(private: step) else { return true }
    return place.rawValue < first.rawValue
  }

  private static let steps: [Step] = [
    .none, .handler("sanitized"), .handler("no-memory"), .conversion("sanitized"),
    .conversion("no-memory"), .showing("sanitized"), .showing("no-memory"),
  ]
  private static let cases = Way.allCases.flatMap { way in
    steps.compactMap { step -> (Way, Step)? in
      switch step {
      // The handler does not decide what a core file contains.
      case .handler where way.isCore: nil
      // `postmortem capture` has no option for privacy: its report has the handler's level.
      case .conversion where way == .capture: nil
      // No report is shown.
      case .showing where way == .quarantine: nil
      // A level for showing does not depend on how the report was made.
      case .showing where way != .crash && way != .processCores: nil
      default: (way, step)
      }
    }
  }

  private let work: SharedDirectory
  private let secrets = PlantedSecrets()
  private var database: String { work.path + "/db" }
  private var pending: String { database + "/" + PendingDumpName.directory }

  init() throws {
    work = try SharedDirectory()
    try FileManager.default.createDirectory(
      atPath: work.path + "/cores", withIntermediateDirectories: false)
    try Data("attached \(PlantedSecrets.attached)\n".utf8).write(
      to: URL(fileURLWithPath: database + ".attached"))
    try Data().write(to: URL(fileURLWithPath: work.path + "/" + PlantedSecrets.locked))
    try FileManager.default.createSymbolicLink(
      atPath: database + ".locked", withDestinationPath: work.path + "/" + PlantedSecrets.locked)
  }

  @Test(arguments: cases)
  func noFileHoldsMoreThanTheGuideSays(_ way: Way, _ step: Step) async throws {
    if way.isCore, let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(way): no core file: \(obstacle)")
      return
    }
    let program = try BuiltProducts.besideTests("crash-lab")
    #expect(
      secrets.found(inBytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: program))))
        .isSuperset(of: PlantedSecrets.inFiles.prefix(3)))
    try await leave(way, step)
    var leaks = try leaks(.dump, step, in: database)
    if way.isCore {
      // Only the report of the core file counts.
      try FileManager.default.removeItem(atPath: database)
    }
    try await convert(way, step)
    // A dump in the quarantine is as the handler wrote it.
    let converted = way == .quarantine ? Place.dump : .database
    leaks += try self.leaks(converted, step, in: database)
    leaks += try self.leaks(converted, step, in: work.path + "/cache")
    let found = try found(in: database)
    if case .none = step {
      #expect(found.isSuperset(of: way.isInFull), "\(Set(way.isInFull).subtracting(found))")
    }
    if way == .quarantine {
      #expect(!work.names("db/quarantine").isEmpty)
    } else {
      leaks += try await show(way, step)
    }
    #expect(leaks.isEmpty, "\(leaks.joined(separator: "\n"))")
  }

  // MARK: - Steps

  /// Runs the program until it has left what a report is made of.
  private func leave(_ way: Way, _ step: Step) async throws {
    let manner =
      switch way {
      case .crash, .processCores, .watchCores, .quarantine: "crash"
      case .dump: "dump"
      case .hang: "hang"
      case .capture, .kill: "waits"
      }
    // The shell starts and ends the program: it waits for the file that shows what the program has done.
    let script = """
      "$0" secrets \(manner) --note "$1" --database "$2" \(step.ofHandler.joined(separator: " ")) > ../out 2> ../err &
      until="\(way == .hang ? "ls $2/pending-serialized-dumps/*.hang" : "grep -q waiting ../out")"
      case \(way) in
      hang|capture|kill)
        for turn in $(seq 600); do if $until > /dev/null 2>&1; then break; fi; sleep 0.1; done;;
      esac
      case \(way) in
      capture) "$3" capture -d "$2" $! > /dev/null || exit 90; kill -9 $!;;
      hang) kill -9 $!;;
      # The last breadcrumbs are written with a heartbeat.
      kill) sleep 1; kill -9 $!;;
      esac
      wait $!
      exit 0
      """
    let child = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", script, try BuiltProducts.besideTests("crash-lab"), PlantedSecrets.argument, database,
        try BuiltProducts.besideTests("postmortem"),
      ], in: work.path + "/cores", environment: ["TOKEN": PlantedSecrets.environment],
      coreFile: way.isCore ? .allowed : .none, patience: 120)
    #expect(child.end.exitCode == 0, "\(child)")
    // The program's own output contains the crash summary.
    let summary = (work.bytes("err") ?? []) + (work.bytes("out") ?? [])
    if case .handler = step {
      let found = secrets.found(inText: String(decoding: summary, as: UTF8.self))
      #expect(found.isEmpty, "in the crash summary: \(found)")
    }
    try await symbolicate(step)
    if way == .quarantine { try damage() }
  }

  /// Makes the report of the crash summary in the program's log.
  private func symbolicate(_ step: Step) async throws {
    guard case .handler = step else { return }
    let child = try await tool("/bin/sh", ["-c", "\"$0\" symbolicate --no-symbols < err"])
    let found = secrets.found(inText: child.standardOutput)
    #expect(found.isEmpty, "in the log's report: \(found)")
  }

  /// Overwrites the start of the dump, so that it cannot be read.
  private func damage() throws {
    let name = try #require(
      work.names("db/" + PendingDumpName.directory).first {
        PendingDumpName(fileName: $0)?.role == .finished
      })
    let path = "db/" + PendingDumpName.directory + "/" + name
    var bytes = try #require(work.bytes(path))
    bytes.replaceSubrange(0..<16, with: [UInt8](repeating: 0, count: 16))
    try work.put(bytes, path)
  }

  private func convert(_ way: Way, _ step: Step) async throws {
    let options = ["--quiet"] + step.ofConversion
    switch way {
    case .processCores:
      let child = try await tool(
        "$0", ["process", "--create", "--cores", "cores", "-d", database] + options)
      #expect(child.end.exitCode == 0, "\(child)")
    case .watchCores:
      let child = try await tool(
        "$0", ["watch", "--create", "--count", "1", "--cores", "cores", "-d", database] + options)
      #expect(child.end.exitCode == 0, "\(child)")
    case .quarantine:
      for _ in 0..<4 { _ = try await tool("$0", ["process", "-d", database] + options) }
    default:
      let child = try await tool("$0", ["process", "-d", database] + options)
      #expect(child.end.exitCode == 0, "\(child)")
      if case .handler = step {
        #expect(secrets.found(inText: child.standardOutput + child.standardError).isEmpty)
      }
    }
  }

  /// Searches everything that the command prints of a database.
  private func show(_ way: Way, _ step: Step) async throws -> [String] {
    var leaks: [String] = []
    let reports = [
      ["show", "--full", "--no-symbols"], ["show", "--json", "--no-symbols"],
      ["show", "--html", "--no-symbols"],
    ]
    let uploads = [
      ["upload", "--dry-run", "--url", "http://127.0.0.1/"],
      ["upload", "--dry-run", "--dsn", "http://key@127.0.0.1/1"],
    ]
    var commands = (reports + uploads).map { $0 + step.ofShowing }
    // These have no option for privacy, so they show what the database has; one way of making a report is enough.
    if way == .crash, Self.first(private: step) != .form {
      commands += [
        ["list"], ["list", "--json"], ["list", "--group"], ["export"],
        ["export", "--format", "otlp"], ["stats"], ["show"],
      ]
    }
    for command in commands {
      let child = try await tool("$0", command + ["-d", database])
      #expect(child.end.exitCode == 0, "\(command): \(child.standardError.prefix(2000))")
      for text in [child.standardOutput, child.standardError] {
        leaks += secrets.found(inText: text).filter { !Self.allowed($0, .form, step) }
          .map { "\(command.prefix(2)): \($0)" }
      }
    }
    return leaks + (try self.leaks(.database, step, in: work.path + "/cache"))
  }

  /// Runs a program in the directory of this test, with its own cache; `$0` is the command `postmortem`.
  private func tool(_ program: String, _ arguments: [String]) async throws -> ChildProcess {
    let tool = try BuiltProducts.besideTests("postmortem")
    return try await ChildProcess.run(
      program == "$0" ? tool : program, arguments + (program == "$0" ? [] : [tool]), in: work.path,
      environment: ["XDG_CACHE_HOME": work.path + "/cache", "TERM": "dumb"], patience: 120)
  }

  // MARK: - Search

  /// The secrets that files may not hold, each with the file's name.
  private func leaks(_ place: Place, _ step: Step, in directory: String) throws -> [String] {
    try files(in: directory).flatMap { path in
      secrets.found(inBytes: try bytes(of: path)).filter { !Self.allowed($0, place, step) }
        .map { "\(place), \(path.dropFirst(work.path.count)): \($0)" }
    }
  }

  private func found(in directory: String) throws -> Set<String> {
    try files(in: directory).reduce(into: []) {
      $0.formUnion(secrets.found(inBytes: try bytes(of: $1)))
    }
  }

  /// The bytes and the name of a file.
  private func bytes(of path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) + Array(path.utf8)
  }

  /// The paths of all regular files in a directory and below.
  private func files(in directory: String) throws -> [String] {
    var paths: [String] = []
    let names = FileManager.default.enumerator(atPath: directory)
    while let name = names?.nextObject() as? String {
      if names?.fileAttributes?[.type] as? FileAttributeType == .typeRegular {
        paths.append(directory + "/" + name)
      }
    }
    return paths
  }
}
