import CrashConverter
import CrashTestSupport
import Foundation
import Testing

/// The example `PreforkServer`, whose workers crash.
@Suite struct PreforkTests {
  @Test func eachWorkersCrashIsOneReportAndTheParentLives() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(
      try BuiltProducts.besideTests("PreforkServer"), [database, "0", "2"])
    var expected: [CrashedRequest] = []
    var workers: Set<String> = []
    for number in 0..<12 {
      let id = "crash-\(number)"
      workers.insert(try Self.worker(of: server))
      let client = try HTTPClient(port: server.port)
      #expect(throws: HTTPClient.Lost.self) { try client.ask("/crash", id: id) }
      expected.append(CrashedRequest(id: id, request: "GET /crash"))
    }
    workers.insert(try Self.worker(of: server))
    #expect(workers.count > 1, "others serve in place of those that crashed")
    server.signal(SIGTERM)
    let end = server.waitForEnd()
    #expect(end.exitCode == 0, "\(end)")
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(try CrashedRequest.all(in: database) == expected.sorted())
  }

  @Test func theParentMakesTheReportWhileItServes() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(
      try BuiltProducts.besideTests("PreforkServer"), [database, "0", "1"])
    let client = try HTTPClient(port: server.port)
    #expect(throws: HTTPClient.Lost.self) { try client.ask("/crash", id: "the-one") }
    // The only worker is a new one. SIGTERM is sent after the crash, so the report exists when the server exits.
    _ = try Self.worker(of: server)
    server.signal(SIGTERM)
    #expect(server.waitForEnd().exitCode == 0)
    #expect(
      try CrashedRequest.all(in: database)
        == [CrashedRequest(id: "the-one", request: "GET /crash")])
  }

  /// The body of an answer, which names the worker; the connection closes after each answer.
  private static func worker(of server: RunningServer) throws -> String {
    let answer = try HTTPClient(port: server.port).ask("/", id: "who")
    #expect(answer.status == 200 && answer.isLast)
    return answer.body
  }
}
