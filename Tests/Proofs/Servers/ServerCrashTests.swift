import CrashConverter
import CrashTestSupport
import Foundation
import Testing

/// The example `Server` under load: one of many requests crashes it, and it is restarted.
@Suite struct ServerCrashTests {
  static let crashes =
    ProcessInfo.processInfo.environment["POSTMORTEM_SERVER_CRASHES"].flatMap(Int.init) ?? 100
  /// The routes that crash on the request's thread.
  private static let paths = [
    "fatal-error", "array", "unwrap", "overflow", "throw", "null", "abort", "stack-overflow",
  ].map { "/crash/" + $0 }

  @Test func eachCrashIsOneReportWhichNamesTheRequestThatDidIt() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let executable = try BuiltProducts.besideTests("Server")
    var expected: [CrashedRequest] = []
    var outputs: [String: String] = [:]
    for number in 0..<Self.crashes {
      let path = Self.paths[number % Self.paths.count]
      let id = "crash-\(number)"
      // In the meantime the server converts earlier dumps, until the next crash interrupts it.
      let server = try RunningServer(executable, [database])
      let load = try LoadGenerator(port: server.port, connections: 4, name: "load-\(number)")
      let isLoaded = load.waitForAnswers(20 + number)
      #expect(isLoaded, "\(id)")
      let client = try HTTPClient(port: server.port)
      #expect(throws: HTTPClient.Lost.self) { try client.ask(path, id: id) }
      let end = server.waitForEnd()
      #expect(end.signal != nil && end.signal != SIGKILL, "\(id) \(path): \(end)")
      let outcome = load.waitForEnd()
      #expect(outcome.refused == [] && outcome.ended == 0)
      expected.append(CrashedRequest(id: id, request: "GET \(path)"))
      outputs[id] = try server.output()
    }
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    let reported = try CrashedRequest.all(in: database)
    #expect(
      reported == expected.sorted(),
      """
      surplus: \(reported.difference(from: expected.sorted()).insertions)
      lost: \(Set(expected).subtracting(reported).map { outputs[$0.id] ?? $0.id })
      """)
    let left = try FileManager.default.contentsOfDirectory(
      atPath: database + "/pending-serialized-dumps")
    #expect(left.filter { $0.contains("@") && !$0.hasPrefix("converter") } == [])
  }

  @Test func aKillUnderLoadIsOneReportOfHowTheRunEnded() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(try BuiltProducts.besideTests("Server"), [database])
    let load = try LoadGenerator(port: server.port, connections: 4)
    let isLoaded = load.waitForAnswers(20)
    #expect(isLoaded)
    let client = try HTTPClient(port: server.port)
    #expect(throws: HTTPClient.Lost.self) { try client.ask("/crash/kill", id: "kill") }
    #expect(server.waitForEnd().signal == SIGKILL)
    _ = load.waitForEnd()
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.map(\.outcome.kind) == [.ended], "\(processed)")
  }
}
