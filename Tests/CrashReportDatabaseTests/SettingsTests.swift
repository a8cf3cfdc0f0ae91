import CrashReportDatabase
import CrashTestSupport
import Glibc
import IntermediateDump
import Testing

@Suite struct SettingsTests {
  private let directory: SharedDirectory
  private let database: CrashReportDatabase

  init() throws {
    directory = try SharedDirectory()
    database = try CrashReportDatabase(path: directory.path)
  }

  /// The magic number, version 1, no options, padding, no attempt, and the ID with its fields in little-endian
  /// order.
  private static let bytes: [UInt8] = [
    0x73, 0x64, 0x50, 0x43, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
  ]

  @Test func settingsAreReadAsCrashpadWritesThem() throws {
    try directory.put(Self.bytes, "settings.dat")
    #expect(try database.clientID() == ReportID("00112233-4455-6677-8899-aabbccddeeff"))
    #expect(directory.bytes("settings.dat") == Self.bytes)
  }

  @Test func newSettingsKeepTheirIDAndHaveUploadsOff() throws {
    let id = try database.clientID()
    #expect(try database.clientID() == id)
    #expect(try CrashReportDatabase(path: directory.path).clientID() == id)
    let bytes = try #require(directory.bytes("settings.dat"))
    #expect(bytes.prefix(24) == Self.bytes.prefix(24))
    #expect(bytes.count == 40)
    #expect(bytes[24] == id.bytes[3] && bytes[28] == id.bytes[5] && bytes[39] == id.bytes[15])
    #expect(try directory.permissions("settings.dat") == 0o600)
    #expect(directory.names("new").isEmpty)
  }

  @Test(arguments: [0, 1, 39, 41, 5000])
  func settingsOfAnotherLengthAreReplaced(count: Int) throws {
    let padded = Self.bytes + Array(repeating: 0, count: 5000)
    try directory.put(Array(padded.prefix(count)), "settings.dat")
    try checkReplaced()
  }

  @Test(arguments: [0, 4, 7])
  func settingsThatAreDamagedAreReplaced(offset: Int) throws {
    var bytes = Self.bytes
    bytes[offset] ^= 0xFF
    try directory.put(bytes, "settings.dat")
    try checkReplaced()
  }

  @Test func settingsWithoutAnIDAreReplaced() throws {
    try directory.put(Array(Self.bytes.prefix(24)) + Array(repeating: 0, count: 16), "settings.dat")
    try checkReplaced()
  }

  private func checkReplaced() throws {
    let id = try database.clientID()
    #expect(id.description != "00112233-4455-6677-8899-aabbccddeeff")
    #expect(try database.clientID() == id)
    #expect(directory.bytes("settings.dat")?.count == 40)
    #expect(directory.names() == ["attachments", "completed", "new", "pending", "settings.dat"])
  }

  @Test func whatIsNoFileIsSetAsideAndNotFollowed() throws {
    let outside = try SharedDirectory()
    try outside.put(Self.bytes, "settings")
    try #require(
      unsafe symlink(outside.path + "/settings", directory.path + "/settings.dat") == 0)
    #expect(
      try database.clientID() != ReportID("00112233-4455-6677-8899-aabbccddeeff"))
    #expect(outside.bytes("settings") == Self.bytes)

    try #require(unsafe unlink(directory.path + "/settings.dat") == 0)
    try #require(unsafe mkfifo(directory.path + "/settings.dat", 0o600) == 0)
    let id = try database.clientID()
    #expect(try database.clientID() == id)

    try #require(unsafe unlink(directory.path + "/settings.dat") == 0)
    try #require(unsafe mkdir(directory.path + "/settings.dat", 0o700) == 0)
    #expect(try database.clientID() == (try database.clientID()))
  }

  @Test func damagedSettingsGiveAllThreadsTheSameID() async throws {
    let database = database
    try directory.put([1, 2, 3], "settings.dat")
    let ids = await withTaskGroup(of: ReportID?.self) { group in
      for _ in 0..<32 { group.addTask { try? database.clientID() } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let last = try database.clientID()
    #expect(ids.allSatisfy { $0 == last })
  }
}
