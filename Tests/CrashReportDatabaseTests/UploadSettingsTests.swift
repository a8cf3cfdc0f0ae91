import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@Suite struct UploadSettingsTests {
  private let directory: SharedDirectory
  private let database: CrashReportDatabase

  init() throws {
    directory = try SharedDirectory()
    database = try CrashReportDatabase(path: directory.path)
  }

  @Test func uploadsAreOffUntilEnabledAndStayAsTheyWereSet() throws {
    #expect(try !database.uploadsEnabled())
    let id = try database.clientID()
    try database.setUploadsEnabled(true)
    #expect(try CrashReportDatabase(path: directory.path).uploadsEnabled())
    #expect(directory.bytes("settings.dat")?[8] == 1)
    try database.setUploadsEnabled(false)
    #expect(try !database.uploadsEnabled())
    #expect(try database.clientID() == id)
    #expect(directory.names("new").isEmpty)
    #expect(try directory.permissions("settings.dat") == 0o600)
  }

  @Test func damageOnlyEverDisables() throws {
    try database.setUploadsEnabled(true)
    let good = try #require(directory.bytes("settings.dat"))
    // The settings truncated at every byte, with a later version, and with each checked bit flipped.
    var damaged = (0..<good.count).map { Array(good.prefix($0)) }
    for (offset, value) in [(0, UInt8(0)), (4, 2), (7, 0x80)] {
      var bytes = good
      bytes[offset] = value
      damaged.append(bytes)
    }
    for bytes in damaged {
      try directory.put(bytes, "settings.dat")
      #expect(try !database.uploadsEnabled(), "\(bytes.count)")
      #expect(directory.bytes("settings.dat")?.count == 40)
    }
  }

  @Test func optionsOfALaterTimeAreKept() throws {
    try database.setUploadsEnabled(true)
    var bytes = try #require(directory.bytes("settings.dat"))
    bytes[8] = 0b1011
    try directory.put(bytes, "settings.dat")
    try database.setUploadsEnabled(false)
    #expect(directory.bytes("settings.dat")?[8] == 0b1010)
  }

  @Test func anAttemptIsNotedAndOneInTheFutureIsNone() throws {
    #expect(try database.lastUploadAttemptTime() == nil)
    let now = Int64(time(nil))
    try database.recordUploadAttempt(at: now)
    #expect(try database.lastUploadAttemptTime()?.seconds == now)
    for time in [now + 100_000, .max, -1, .min] {
      try database.recordUploadAttempt(at: time)
      #expect(try database.lastUploadAttemptTime() == nil)
    }
    #expect(try !database.uploadsEnabled())
  }

  @Test func anAttemptNeverBringsBackWhatWasDisabled() async throws {
    try database.setUploadsEnabled(true)
    let id = try database.clientID()
    let (database, now) = (database, Int64(time(nil)))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask { for _ in 0..<100 { try database.recordUploadAttempt(at: now) } }
      }
      group.addTask { try database.setUploadsEnabled(false) }
      try await group.waitForAll()
    }
    #expect(try !database.uploadsEnabled())
    #expect(try database.clientID() == id)
  }

  @Test func aLinkInTheirPlaceIsNotWrittenThrough() throws {
    let outside = try SharedDirectory()
    try outside.put(Array(repeating: 3, count: 40), "file")
    try #require(unsafe symlink(outside.path + "/file", directory.path + "/settings.dat") == 0)
    try database.recordUploadAttempt(at: 1)
    try database.setUploadsEnabled(true)
    #expect(outside.bytes("file") == Array(repeating: 3, count: 40))
    #expect(try database.uploadsEnabled())
  }
}
