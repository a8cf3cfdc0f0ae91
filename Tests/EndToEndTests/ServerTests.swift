import CrashConverter
import CrashTestSupport
import Testing

/// The example `Server`, which a request crashes.
///
/// `swift run proofs servers` crashes it under load.
@Suite struct ServerTests {
  @Test func theReportNamesTheRequestThatDidIt() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(try BuiltProducts.besideTests("Server"), [database])
    let other = try HTTPClient(port: server.port)
    #expect(try other.ask("/healthz", id: "healthy").body == "ok\n")
    let client = try HTTPClient(port: server.port)
    #expect(throws: HTTPClient.Lost.self) { try client.ask("/crash/array", id: "guilty") }
    #expect(server.waitForEnd().signal != nil)
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.map(\.outcome) == [.complete])
    #expect(
      try CrashedRequest.all(in: database)
        == [CrashedRequest(id: "guilty", request: "GET /crash/array")])
  }
}
