import CrashConverter
import CrashTestSupport
import Foundation
import Testing

/// The example `Server` gets SIGTERM while it serves requests.
@Suite struct ServerEndTests {
  @Test(arguments: 0..<5)
  func sigtermCutsOffNoRequestThatWasBegunAndLeavesNoReport(_ round: Int) throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(
      try BuiltProducts.besideTests("Server"), [database, "--threads", "3"])
    let load = try LoadGenerator(port: server.port, connections: 6)
    // Some of these requests are always in progress, and others wait for the event loop.
    let slow = try LoadGenerator(port: server.port, connections: 2, path: "/slow", name: "slow")
    let isLoaded = load.waitForAnswers(50 + 17 * round) && slow.waitForAnswers(2)
    #expect(isLoaded)
    server.signal(SIGTERM)
    for outcome in [load.waitForEnd(), slow.waitForEnd()] {
      #expect(outcome.lost == [] && outcome.refused == [])
    }
    let ended = load.waitForEnd().ended + slow.waitForEnd().ended
    #expect(ended == 8, "each connection is told which answer is the last one")
    let end = server.waitForEnd()
    #expect(end.exitCode == 0, "\(end)")
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.isEmpty, "\(processed)")
    #expect(try CrashedRequest.all(in: database) == [])
  }

  @Test func withoutAHandlerItServesAndEndsAlikeAndMakesNoDatabase() throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let server = try RunningServer(
      try BuiltProducts.besideTests("Server"), [database, "--no-handler"])
    let client = try HTTPClient(port: server.port)
    #expect(try client.ask("/healthz", id: "1").body == "ok\n")
    server.signal(SIGTERM)
    #expect(server.waitForEnd().exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: database))
  }
}
