import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Synchronization
import Testing

@testable import CrashReportDatabase

/// The states of uploads on disk, and which process may change them.
@Suite struct RecordingUploadsTests {
  private let directory: SharedDirectory
  private let database: CrashReportDatabase

  init() throws {
    directory = try SharedDirectory(inMemory: true)
    database = try CrashReportDatabase(path: directory.path)
  }

  private func addReport() throws -> ReportID {
    let report = try database.prepareNewReport(ReportID())
    let id = report.id
    try report.finish()
    return id
  }

  @Test func everyStateSurvivesARestart() throws {
    let id = try addReport()
    try database.beginUpload(id, at: 1000)
    try database.delayUpload(id, until: 2000, because: "no network")
    var upload = try #require(try CrashReportDatabase(path: directory.path).report(id)).upload
    #expect(upload.attempts == 1 && upload.lastAttemptTime == Timestamp(seconds: 1000))
    #expect(upload.nextAttemptTime == Timestamp(seconds: 2000))
    #expect(upload.note == "no network" && !upload.isRequested)
    #expect(try database.requestUpload(id))
    upload = try #require(try database.report(id)).upload
    #expect(upload.isRequested && upload.nextAttemptTime == nil && upload.attempts == 1)
    try database.skipUpload(id, because: "HTTP 400")
    var report = try #require(try database.report(id))
    #expect(report.state == .completed && report.upload.note == "HTTP 400")
    #expect(!report.upload.isRequested && !report.upload.isUploaded)
    #expect(try database.requestUpload(id))
    try database.completeUpload(id, serverID: "called so")
    report = try #require(try database.report(id))
    #expect(report.state == .completed && report.upload.isUploaded)
    #expect(report.upload.serverID == "called so" && report.upload.note.isEmpty)
    #expect(directory.names("pending").isEmpty && directory.names("completed").count == 2)
    #expect(try !database.requestUpload(id) && !database.requestUpload(ReportID()))
    #expect(throws: CrashReportDatabaseError.self) { try database.beginUpload(id, at: 1) }
  }

  @Test func crashpadReadsWhatItKnowsOfTheMetadata() throws {
    let id = try addReport()
    try database.beginUpload(id, at: 0x0102_0304)
    try database.delayUpload(id, until: 0x0A0B_0C0D, because: "why")
    var bytes = try #require(directory.bytes("pending/\(id).meta"))
    #expect(bytes[0..<16] == [1, 0, 0, 0, 1, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0])
    #expect(bytes[24...] == [0, 0x0D, 0x0C, 0x0B, 0x0A, 0, 0, 0, 0, 0x77, 0x68, 0x79])
    try database.completeUpload(id, serverID: "id")
    bytes = try #require(directory.bytes("completed/\(id).meta"))
    #expect(bytes[24...] == [1, 0, 0, 0, 0, 0, 0, 0, 0x69, 0x64])
  }

  @Test func metadataOfAnyBytesIsReadAndWritten() {
    var generator = SystemRandomNumberGenerator()
    for length in 0..<200 {
      let bytes =
        [1, 0, 0, 0] + (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      guard let metadata = ReportMetadata(bytes: bytes) else { continue }
      #expect(ReportMetadata(bytes: metadata.bytes)?.uploadAttempts == metadata.uploadAttempts)
    }
    var metadata = ReportMetadata(creationTime: 1)
    metadata.nextUploadAttemptTime = .max
    metadata.uploadNote = String(repeating: "x", count: 1 << 20)
    #expect(metadata.bytes.count < ReportMetadata.maximumFileSize)
    metadata.nextUploadAttemptTime = .min
    #expect(ReportMetadata(bytes: metadata.bytes)?.nextUploadAttemptTime == 0)
  }

  @Test func oneOfManyGetsTheRightAndTheDeadLoseIt() async throws {
    let database = database
    final class Tries: Sendable { let count = Mutex(0) }
    let (count, tries) = (50, Tries())
    let winners = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<count {
        group.addTask {
          let claim = try? UploaderClaim.take(in: database)
          tries.count.withLock { $0 += 1 }
          guard let claim else { return 0 }
          // The task that has the claim keeps it until all tasks have tried.
          while tries.count.withLock({ $0 }) < count {
            try? await Task.sleep(for: .milliseconds(1))
          }
          withExtendedLifetime(claim.self) {}
          return 1
        }
      }
      return await group.reduce(0, +)
    }
    #expect(winners == 1)
    #expect(directory.names("uploader").count == 1 && directory.names("new").isEmpty)
    // The claim of an uploader that was killed while it sent a report: its process ID on this machine is now
    // another process's.
    let host = HostIdentity.current()
    let id = ReportID()
    func put(_ name: String) throws {
      for old in directory.names("uploader") {
        try FileManager.default.removeItem(atPath: directory.path + "/uploader/" + old)
      }
      try directory.put([], "uploader/uploader@\(id).\(name).claimed")
    }
    let place = String(host.place, radix: 16)
    try put("1-\(host.processID)-\(host.startTime ?? 0)-\(place)")
    #expect(try UploaderClaim.reportBeingSent(in: database) == id)
    #expect(try !canTake())
    try put("1-\(host.processID)-1-\(place)")
    #expect(try UploaderClaim.reportBeingSent(in: database) == nil)
    #expect(try canTake())
    // A claim from another machine or namespace is valid for an hour.
    try put("1-5-5-7")
    #expect(try !canTake())
    // If the claim's file was deleted by hand, the first attempt creates it again, and the next one succeeds.
    try FileManager.default.removeItem(
      atPath: directory.path + "/uploader/" + directory.names("uploader")[0])
    #expect(try !canTake())
    #expect(try canTake())
  }

  private func canTake() throws -> Bool {
    guard var claim = try UploaderClaim.take(in: database) else { return false }
    let id = ReportID()
    #expect(try claim.note(id))
    #expect(try UploaderClaim.reportBeingSent(in: database) == id)
    return try claim.note(nil)
  }
}
