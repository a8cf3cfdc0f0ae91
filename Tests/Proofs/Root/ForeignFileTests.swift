import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Glibc
import IntermediateDump
import Testing

/// Pending dumps that belong to another user.
@Suite(.enabled("needs root, to be another user") { geteuid() == 0 })
struct ForeignFileTests {
  private let dumps: PendingDatabase

  init() throws {
    dumps = try PendingDatabase()
  }

  @Test func aFileOfAnotherUserIsKeptAndStopsNobody() throws {
    let (foreign, own) = (try dumps.putDump(age: 100), try dumps.putDump())
    for path in [dumps.path, dumps.path(of: ""), dumps.path(of: "app@\(own)")] {
      try #require(unsafe chown(path, 65534, 65534) == 0)
    }
    try #require(unsafe chmod(dumps.path(of: "app@\(foreign)"), 0o600) == 0)
    for round in 1...5 {
      let racer = try Racer(
        database: dumps.path,
        through: ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
      try racer.letGo()
      let lines = try racer.lines()
      #expect(lines.count == (round == 1 ? 2 : 1), "\(lines)")
      #expect(lines.first?.contains("(dump \(foreign.description.prefix(8)))") == true)
      #expect(lines.first?.contains("failed, will be tried again") == true)
      #expect(lines.first?.contains("give user 65534 read") == true, "\(lines)")
    }
    #expect(try dumps.reports.map(\.id) == [own])
    #expect(dumps.directory.names("quarantine") == [])
    // Root works in this database with the rights of the database's owner, so the conversion fails until the owner may
    // read the dump.
    let refused = try processIntermediateDumps(database: dumps.path)
    #expect(refused.map(\.reportID) == [foreign])
    #expect(refused.first?.outcome != .complete)
    let name = try #require(dumps.names.first { $0.hasPrefix("app@\(foreign)") })
    try #require(unsafe chown(dumps.path(of: name), 65534, 65534) == 0)
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
  }
}
