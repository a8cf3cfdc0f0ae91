import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Testing

@testable import CrashReportDatabase

@Suite struct RemovingTests {
  private let directory: SharedDirectory
  private let database: CrashReportDatabase
  private let now = Int64(time(nil))
  private static let day: Int64 = 24 * 3600

  init() throws {
    directory = try SharedDirectory()
    database = try CrashReportDatabase(path: directory.path)
  }

  /// Adds a report with metadata of a given time.
  @discardableResult
  private func put(
    _ state: String = "pending", size: Int = 1, created: Int64, attachment: Int? = nil
  ) throws -> ReportID {
    let id = ReportID()
    try directory.put(Array(repeating: 7, count: size), "\(state)/\(id).dmp")
    var metadata = [UInt8](repeating: 0, count: 32)
    metadata[0] = 1
    for byte in 0..<8 { metadata[16 + byte] = UInt8(truncatingIfNeeded: created >> (8 * byte)) }
    try directory.put(metadata, "\(state)/\(id).meta")
    if let attachment {
      try FileManager.default.createDirectory(
        atPath: "\(directory.path)/attachments/\(id)", withIntermediateDirectories: false)
      try directory.put(Array(repeating: 8, count: attachment), "attachments/\(id)/log")
    }
    return id
  }

  private func prune(days: Int = 365, bytes: Int64 = 128 << 20) throws -> [ReportID] {
    var condition = PruneCondition()
    condition.maximumAge = .seconds(Int64(days).clampedMultiplied(by: 86_400))
    condition.maximumSize = bytes
    let expected = try database.excess(condition).map(\.id)
    #expect(try database.prune(condition).map(\.id) == expected)
    return expected
  }

  @Test func theDefaultsAreAYearAnd128MiB() {
    #expect(PruneCondition().maximumAge == .seconds(365 * 86_400))
    #expect(PruneCondition().maximumSize == 134_217_728)
  }

  @Test func whatIsTooOldGoesInEveryState() throws {
    let kept = try put(created: now - 365 * Self.day + 60)
    let pending = try put(created: now - 365 * Self.day - 60)
    let completed = try put("completed", created: now - 366 * Self.day)
    #expect(try prune() == [pending, completed])
    #expect(try database.reports().map(\.id) == [kept])
    #expect(directory.names("pending") == ["\(kept).dmp", "\(kept).meta"])
    #expect(directory.names("completed") == [])
  }

  @Test func theOldestGoWhenTogetherTheyAreTooLarge() throws {
    // The sizes are rounded up to 1, 2 and 3 KiB; the second newest has 2 KiB with its attachment.
    let newest = try put(size: 1, created: now - 1)
    let second = try put(size: 1000, created: now - 2, attachment: 1000)
    let third = try put("completed", size: 3 << 10, created: now - 3)
    let fourth = try put(size: 1, created: now - 4)
    #expect(try prune(bytes: 7 << 10) == [])
    #expect(try prune(bytes: 6 << 10) == [fourth])
    // A small report that is older than one that is too large is removed, too.
    let fifth = try put(size: 1, created: now - 5)
    #expect(try prune(bytes: (6 << 10) - 1) == [third, fifth])
    #expect(try prune(bytes: 2 << 10) == [second])
    #expect(directory.names("attachments") == [])
    #expect(try prune(bytes: 0) == [], "the newest one stays")
    #expect(try database.reports().map(\.id) == [newest])
  }

  @Test func metadataFromTheFutureOrDamagedIsNoReasonToTrap() throws {
    let future = try put(created: .max)
    let past = try put(created: .min)
    let torn = try put(created: now)
    try directory.put([1, 2, 3], "pending/\(torn).meta")
    #expect(try prune() == [])
    #expect(try prune(days: .max) == [])
    #expect(try prune(days: -5).sorted() == [], "a negative age is none at all, of this second")
    #expect(Set(try database.reports().map(\.id)) == [future, past, torn])
  }

  @Test(arguments: [0, 100, 315_532_800, 946_684_800, 1_577_836_800, 1_726_531_199, 4_102_444_800])
  func aReportOfAClockThatWasNotSetIsAsOldAsTheLastChangeOfItsFile(_ created: Int64) throws {
    let unset = try put(created: created)
    let old = try put(created: now - 366 * Self.day)
    #expect(try prune() == [old])
    let report = try #require(try database.report(unset))
    let time = Timestamp(seconds: Int64(time(nil)))
    #expect((now - 5...now + 600).contains(report.date(at: time).seconds))
    #expect(report.creationTime.seconds == created, "what is known of it stays")
  }

  @Test func whileTheClockIsNotSetNothingIsOldAndWhatIsMadeNowIsTheNewest() {
    func report(_ created: Int64) -> (report: StoredReport, size: Int64) {
      let report = StoredReport(
        id: ReportID(), state: .pending, creationTime: Timestamp(seconds: created), size: 1 << 10,
        upload: ReportUpload(nil), modificationTime: 0, changeTime: 0,
        directory: "/")
      return (report, report.size)
    }
    let (first, later, old, recent) = (
      report(10), report(400), report(now - 400 * Self.day), report(now)
    )
    let all = [old, first, recent, later]
    func excess(_ now: Int64, kept: Int64 = 1000) -> [ReportID] {
      var condition = PruneCondition()
      condition.maximumSize = kept << 10
      return condition.excess(among: all, now: now, limit: condition.maximumSize).map(\.id)
    }
    #expect(excess(500) == [])
    #expect(excess(500, kept: 2) == [recent.report.id, old.report.id])
    // Once the clock is set, the reports that it dated before have no age, and are removed last.
    #expect(excess(now) == [old.report.id])
    #expect(excess(now, kept: 2) == [recent.report.id, old.report.id])
  }

  @Test func aSmallVolumeKeepsTheNewestReportOfEachGroup() {
    func report(_ group: String, age: Int64) -> (group: String, report: StoredReport) {
      let created = Timestamp(seconds: now - age)
      let report = StoredReport(
        id: ReportID(), state: .pending, creationTime: created, size: 1 << 10,
        upload: ReportUpload(nil), modificationTime: 0, changeTime: 0, directory: "/")
      return (group, report)
    }
    let all = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5), ("b", 6)].map(report)
    func excess(volume: Int64) -> [ReportID] {
      PruneCondition().excess(
        among: all.map { ($0.report, $0.report.size) }, now: now,
        limit: VolumeRoom(size: volume << 10, available: 0).limit(128 << 20)
      ) { report in
        all.first { $0.report.id == report.id }?.group
      }.map(\.id)
    }
    func ids(_ indices: Int...) -> [ReportID] { indices.map { all[$0].report.id } }
    #expect(excess(volume: 24) == [])
    #expect(excess(volume: 20) == ids(5))
    #expect(excess(volume: 12) == ids(2, 4, 5), "the newest of each group")
    #expect(excess(volume: 8) == ids(2, 3, 4, 5))
    #expect(excess(volume: 1) == ids(1, 2, 3, 4, 5), "the newest of all stays")
  }

  @Test func whatAClockThatWasNotSetHasDatedIsNoLeftover() throws {
    for name in ["a.dmp", "b.tmp"] {
      try directory.put([1], "new/" + name)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 100)],
        ofItemAtPath: "\(directory.path)/new/\(name)")
    }
    try database.prune()
    #expect(directory.names("new").count == 2)
  }

  @Test func deletingTakesAllThatBelongsToAReport() throws {
    let (id, other) = (try put(created: now, attachment: 5), try put("completed", created: now))
    #expect(try database.delete(ReportID()) == false)
    #expect(try database.delete(id))
    #expect(try database.delete(other))
    #expect(try database.delete(id) == false)
    for name in ["pending", "completed", "attachments"] { #expect(directory.names(name) == []) }
  }

  @Test func deletingStaysInTheDirectories() throws {
    let outside = try SharedDirectory()
    try outside.put([1], "file")
    let id = try put(created: now)
    try #require(unsafe symlink(outside.path, "\(directory.path)/attachments/\(id)") == 0)
    #expect(try database.delete(id))
    let linked = ReportID()
    try #require(
      unsafe symlink(outside.path + "/file", "\(directory.path)/pending/\(linked).dmp") == 0)
    #expect(try database.delete(linked) == false)
    #expect(outside.bytes("file") == [1])
  }

  @Test func whatIsYoungIsNotCalledLeftover() throws {
    // A half-written report, metadata without its minidump, and attachments that were made before the report.
    let id = ReportID()
    try directory.put([1], "new/\(id).dmp")
    try directory.put([1], "pending/\(id).meta")
    try FileManager.default.createDirectory(
      atPath: "\(directory.path)/attachments/\(id)", withIntermediateDirectories: false)
    try database.prune()
    #expect(directory.names("new").count == 1)
    #expect(directory.names("pending").count == 1)
    #expect(directory.names("attachments").count == 1)
  }

  @Test func whatIsLeftIsRemovedWhetherFileOrDirectory() throws {
    for name in ["a.dmp", "b.tmp", "c.other"] { try directory.put([1], "new/" + name) }
    try FileManager.default.createDirectory(
      atPath: "\(directory.path)/new/uploader.7.tmp", withIntermediateDirectories: false)
    try directory.put([1], "new/uploader.7.tmp/claim")
    let new = try database.open().subdirectory("new")
    try database.removeOld(in: new, before: 1) { _ in true }
    #expect(directory.names("new").count == 4)
    try database.removeOld(in: new, before: .max) { $0.hasSuffix(".dmp") || $0.hasSuffix(".tmp") }
    #expect(directory.names("new") == ["c.other"])
  }

  @Test func manyThreadsPruneAtOnce() async throws {
    for index in 0..<40 { try put(created: now - 400 * Self.day + Int64(index)) }
    let database = database
    let removed = try await withThrowingTaskGroup(of: [ReportID].self) { group in
      for _ in 0..<4 { group.addTask { try database.prune().map(\.id) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(removed).count == 40)
    #expect(directory.names("pending") == [])
  }
}
