import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@Suite struct DatabaseTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  /// Finishes a report with the given contents.
  private func finish(
    _ id: ReportID, in database: CrashReportDatabase, _ contents: String = "minidump"
  ) throws {
    let report = try database.prepareNewReport(id)
    let text = Array(contents.utf8)
    let descriptor = report.descriptor
    let count = unsafe text.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    try #require(count == text.count)
    try report.finish()
  }

  @Test func aDatabaseIsMadeForItsUserAlone() throws {
    let path = directory.path + "/a/b/db"
    let database = try CrashReportDatabase(path: path + "//")
    #expect(database.path == path)
    #expect(directory.names("a/b/db") == ["attachments", "completed", "new", "pending"])
    for name in ["a", "a/b", "a/b/db", "a/b/db/new", "a/b/db/pending", "a/b/db/attachments"] {
      #expect(try directory.permissions(name) == 0o700)
    }
    // Opening it again changes nothing.
    _ = try CrashReportDatabase(path: path)
    #expect(try database.reports().isEmpty)
  }

  @Test func aFinishedReportIsPendingWithMetadata() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    let before = Int64(time(nil))
    try finish(id, in: database)
    let report = try #require(try database.report(id))
    #expect(report.state == .pending)
    #expect(report.path == directory.path + "/pending/\(id).dmp")
    #expect(report.size == 8)
    #expect((before...Int64(time(nil))).contains(report.creationTime.seconds))
    #expect(try database.reports() == [report])
    #expect(directory.names("new").isEmpty)
    #expect(directory.names("pending") == ["\(id).dmp", "\(id).meta"])
    #expect(try directory.permissions("pending/\(id).dmp") == 0o600)
    #expect(try directory.permissions("pending/\(id).meta") == 0o600)
    // The bytes are version 1, no attempts, no last attempt, the creation time, no attributes, and padding to 32
    // bytes.
    let metadata = try #require(directory.bytes("pending/\(id).meta"))
    let creation = (0..<8).map {
      UInt8(truncatingIfNeeded: report.creationTime.seconds >> (8 * $0))
    }
    #expect(
      metadata == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + creation
        + [0, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test func aReportThatIsNotFinishedIsGone() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    do {
      let report = try database.prepareNewReport(id)
      #expect(report.descriptor >= 0)
      #expect(directory.names("new") == ["\(id).dmp"])
      #expect(try database.report(id)?.state == .new)
    }
    #expect(directory.names("new").isEmpty)
    #expect(try database.report(id) == nil)
  }

  @Test(arguments: ["pending", "completed"])
  func aReportIsThereOnce(state: String) throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    try directory.put([1], "\(state)/\(id).dmp")
    #expect {
      _ = try database.prepareNewReport(id)
    } throws: {
      ($0 as? CrashReportDatabaseError)?.code == .reportExists
    }
    #expect(directory.names("new").isEmpty)
  }

  /// An uploader in another process moves the report after sending it.
  @Test func aReportThatIsMovedRightAfterItIsFinishedIsNoOtherWriters() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let ids = (0..<400).map { _ in ReportID() }
    let path = directory.path
    let mover = Thread {
      for id in ids {
        while unsafe rename("\(path)/pending/\(id).dmp", "\(path)/completed/\(id).dmp") != 0,
          !Thread.current.isCancelled
        {}
      }
    }
    mover.start()
    defer { mover.cancel() }
    for id in ids { try finish(id, in: database) }
  }

  @Test(arguments: ["pending", "completed"])
  func theSecondOfTwoWritersFinds(state: String) throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    let late = try database.prepareNewReport(id)
    try finish(id, in: database, "first")
    if state == "completed" {
      try FileManager.default.moveItem(
        atPath: directory.path + "/pending/\(id).dmp",
        toPath: directory.path + "/completed/\(id).dmp")
      try FileManager.default.removeItem(atPath: directory.path + "/pending/\(id).meta")
    }
    do throws(CrashReportDatabaseError) {
      try late.finish()
      Issue.record("the second writer finished")
    } catch {
      #expect(error.code == .reportExists)
    }
    #expect(directory.bytes("\(state)/\(id).dmp") == Array("first".utf8))
    #expect(try database.reports().map(\.state.rawValue) == [state])
    #expect(directory.names("new").isEmpty)
    if state == "completed" { #expect(directory.names("pending").isEmpty) }
  }

  @Test func aReportLeftByADeadWriterIsNotInTheWay() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    try directory.put([1, 2], "new/\(id).dmp")
    try directory.put([3], "pending/\(id).meta")
    try finish(id, in: database)
    #expect(try database.report(id)?.state == .pending)
    #expect(directory.bytes("pending/\(id).dmp") == Array("minidump".utf8))
    // A file that is older than three days is removed. A newer one may still be written.
    #expect(directory.names("new") == ["\(id).dmp"])
    let old = Date(timeIntervalSinceNow: -4 * 24 * 3600)
    try FileManager.default.setAttributes(
      [.modificationDate: old], ofItemAtPath: directory.path + "/new/\(id).dmp")
    try finish(ReportID(), in: database)
    #expect(directory.names("new") == ["\(id).dmp"], "its change time is new")
  }

  @Test func aReportWhoseFileWasTakenAwayIsAnError() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    let report = try database.prepareNewReport(id)
    try FileManager.default.removeItem(atPath: directory.path + "/new/\(id).dmp")
    try directory.put([1], "new/\(id).dmp")
    do throws(CrashReportDatabaseError) {
      try report.finish()
      Issue.record("somebody else's file became a report")
    } catch {
      #expect(error.code == .newReportLost)
    }
    #expect(try database.report(id)?.state != .pending)
  }

  @Test func reportsAreListedOldestFirst() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let ids = (0..<3).map { _ in ReportID() }
    for (index, id) in ids.enumerated() {
      try directory.put([0], "completed/\(id).dmp")
      var metadata = [UInt8](repeating: 0, count: 32)
      metadata[0] = 1
      metadata[16] = UInt8(10 - index)
      try directory.put(metadata + Array("server".utf8), "completed/\(id).meta")
    }
    #expect(try database.reports().map(\.id) == ids.reversed())
    #expect(try database.reports().map(\.creationTime.seconds) == [8, 9, 10])
  }

  @Test func manyThreadsMakeOneReportEachAndOneOfTheSame() async throws {
    let database = try CrashReportDatabase(path: directory.path)
    let shared = ReportID()
    let results = await withTaskGroup(of: (Bool, ReportID).self) { group in
      for _ in 0..<40 {
        group.addTask {
          let own = (try? self.finish(ReportID(), in: database)) != nil
          let first = (try? self.finish(shared, in: database)) != nil
          let client = (try? database.clientID()) ?? ReportID()
          return (own && first, client)
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(try database.reports().count == 41)
    #expect(results.count(where: \.0) == 1, "one writer of the shared report finishes")
    #expect(Set(results.map(\.1)).count == 1, "one client ID")
    #expect(directory.names("new").isEmpty)
  }
}
