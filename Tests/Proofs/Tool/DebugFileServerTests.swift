import CrashTestSupport
import Foundation
import Testing

/// `show` for a program whose file was deleted, while a server has it.
@Suite(.needs(.python3))
struct DebugFileServerTests {
  /// Makes a report of a program that was removed after its crash; the report has no stored names.
  ///
  /// The crash's summary is in the file `log` of the directory.
  private static func database(
    in directory: borrowing CrashTestSupport.TemporaryDirectory
  ) async throws -> String {
    let database = directory.path + "/database"
    let victim = directory.path + "/service"
    try Spawn.copyProgram(BuiltProducts.besideTests("crash-lab"), to: victim)
    let crash = try await ChildProcess.run(
      victim, ["null-read", "--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try crash.standardError.write(
      toFile: directory.path + "/log", atomically: false, encoding: .utf8)
    let files = directory.path + "/files"
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: victim, toPath: files + "/program")
    return database
  }

  @Test(arguments: ["debuginfo", "executable"])
  func aFileIsFetchedOnceAndNamesTheProgramsFunctions(_ kind: String) async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    let database = try await Self.database(in: directory)
    let server = try FileServer(of: directory.path + "/files")
    let tool = try BuiltProducts.besideTests("postmortem")
    func show(_ urls: String?) async throws -> ChildProcess {
      var environment = [
        "XDG_CACHE_HOME": directory.path + "/cache", "POSTMORTEM_NO_SYMBOL_CACHE": "1",
      ]
      environment["DEBUGINFOD_URLS"] = urls
      return try await ChildProcess.run(
        tool, ["show", database, "--json"], in: directory.path, environment: environment)
    }
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let without = try await show(nil)
    #expect(!without.standardOutput.contains("CrashLab.swift"), "\(without.standardError)")
    let buildID = try #require(try Self.buildID(in: without.standardOutput))
    try FileManager.default.createDirectory(
      atPath: "\(directory.path)/files/buildid/\(buildID)", withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      atPath: directory.path + "/files/program",
      toPath: "\(directory.path)/files/buildid/\(buildID)/\(kind)")

    let with = try await show(server.url + "/nothing " + server.url + "/")
    let place = try #require(try Self.place(in: with.standardOutput), "\(with.standardError)")
    #expect(place.contains(" at "), "\(place)")
    let isFromTables: Set = ["context", "call-frame-information", "inlined"]
    #expect(try !isFromTables.isSuperset(of: Self.trusts(in: without.standardOutput)))
    #expect(try isFromTables.isSuperset(of: Self.trusts(in: with.standardOutput)))
    let kept = "\(directory.path)/cache/debuginfod_client/\(buildID)/\(kind)"
    #expect(FileManager.default.fileExists(atPath: kept))

    // Without the server, the downloaded file is still there; `show` does not ask again for modules that no
    // server has.
    server.stop()
    let again = try await show(server.url)
    #expect(try Self.place(in: again.standardOutput) == place)
    #expect(!again.standardError.contains("service"), "\(again.standardError)")
  }

  @Test func aServerThatIsNotThereCostsALineAndTheReportIsAsWithout() async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    let database = try await Self.database(in: directory)
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let child = try await ChildProcess.run(
      tool, ["show", database], in: directory.path,
      environment: [
        "XDG_CACHE_HOME": directory.path + "/cache", "DEBUGINFOD_URLS": "http://127.0.0.1:1",
      ])
    #expect(child.end.exitCode == 0)
    #expect(child.standardError.contains("no debug file of service: "), "\(child.standardError)")
    #expect(child.standardOutput.contains("SIGSEGV"))
  }

  /// The report has several modules; the server is asked once, and not again by the next commands.
  @Test func aServerThatDoesNotAnswerIsAskedOnce() async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    let database = try await Self.database(in: directory)
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let server = try SilentServer()
    for run in 1...2 {
      let child = try await ChildProcess.run(
        tool, ["show", database], in: directory.path,
        environment: [
          "XDG_CACHE_HOME": directory.path + "/cache", "DEBUGINFOD_URLS": server.url,
          "DEBUGINFOD_TIMEOUT": "1",
        ])
      #expect(child.end.exitCode == 0 && child.standardOutput.contains("SIGSEGV"))
      let failures = child.standardError.ranges(of: "no debug file of ").count
      #expect(failures == (run == 1 ? 1 : 0), "\(child.standardError)")
    }
  }

  @Test(
    arguments: [("show", "database"), ("symbolicate", "log")], [SIGINT, SIGTERM])
  func aSignalEndsTheWaitForASilentServerAndTheCommand(
    _ command: (name: String, operand: String), _ signal: Int32
  ) async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    let database = try await Self.database(in: directory)
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let server = try SilentServer()
    let cache = directory.path + "/cache"
    let racer = try Racer(
      "postmortem", [command.name, "\(directory.path)/\(command.operand)"],
      through: [
        "/usr/bin/env", "XDG_CACHE_HOME=" + cache,
        // The first download has ended when the silent server is asked.
        "DEBUGINFOD_URLS=http://127.0.0.1:1 " + server.url,
      ])
    defer { racer.kill() }
    #expect(try server.request().hasPrefix("GET /buildid/"))
    #expect(try racer.end(by: signal) == signal)
    let names = FileManager.default.enumerator(atPath: cache)?.compactMap { $0 as? String } ?? []
    #expect(names.contains { $0.hasPrefix("debuginfod_client/") })
    #expect(!names.contains { $0.contains("debuginfo.") || $0.hasSuffix("/debuginfo") }, "\(names)")
  }

  private static func object(_ json: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
  }

  private static func place(in json: String) throws -> String? {
    try object(json)["place"] as? String
  }

  /// How the frames of the crashed thread were found.
  private static func trusts(in json: String) throws -> [String] {
    let threads = try object(json)["threads"] as? [[String: Any]]
    let frames = threads?.first?["frames"] as? [[String: Any]]
    return frames?.compactMap { $0["trust"] as? String } ?? []
  }

  private static func buildID(in json: String) throws -> String? {
    let modules = try object(json)["modules"] as? [[String: Any]]
    return modules?.first { ($0["path"] as? String)?.hasSuffix("/service") == true }?["buildID"]
      as? String
  }
}

/// Python's own file server, on a free port of loopback.
private final class FileServer {
  let url: String
  private let process = Process()

  init(of directory: String) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: try #require(OutsideTool.python3.path))
    process.arguments = [
      "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", directory,
    ]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // The server prints "Serving HTTP on 127.0.0.1 port 1234 (http://127.0.0.1:1234/) ...".
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    url = try #require(line.firstMatch(of: /http:\/\/[0-9.:]+/)).output.description
  }

  func stop() {
    if process.isRunning { process.killAndWait() }
  }

  deinit { stop() }
}
