import DumpInspection
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashConverter
@testable import PendingDumps

/// The record of a run, whose notes and heartbeat are overwritten in place.
@Suite struct RunRecordTests {
  private static func record() -> RunRecord {
    var record = RunRecord(
      processID: 42, startTime: 7, stackStart: 8, bootID: "boot", processNamespace: 9,
      launchTime: 10)
    var course = RunCourse()
    course.launch = RunEvidence(time: 11)
    course.launch?.groupKills = 3
    course.launch?.memoryLimit = 1 << 30
    course.followsExits = true
    course.executablePath = "/usr/bin/server"
    record.course = course
    record.timeNamespace = 12
    record.isMapped = true
    record.takesRequests = true
    return record
  }

  /// All properties as text: a record is not Equatable, because each program with the handler would contain that
  /// code.
  private static func text<Value>(_ value: Value) -> String { String(reflecting: value) }

  private static func read(_ bytes: [UInt8]) throws -> String {
    text(try #require(RunRecord(bytes: bytes)))
  }

  @Test func readsWhatItWrites() throws {
    let record = Self.record()
    #expect(try Self.read(#require(record.encoded())) == Self.text(record))
    var plain = record
    plain.course = nil
    #expect(try Self.read(#require(plain.encoded())) == Self.text(plain))
  }

  @Test func isWrittenAsItsFieldsAre() throws {
    var record = Self.record()
    record.signals = OwnerSignals(crash: 0x450, stop: 41, watchdog: 42)
    let byFields = IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.map(.owner, record, RunRecord.fields)
      _ = writer.endDocument()
    }
    #expect(record.encoded() == byFields)
    for bound in RunRecord.fields.keys {
      let definition = bound.key.definition
      #expect(bound.kinds.contains(definition.kind), "\(bound.key)")
      if let size = bound.size { #expect(definition.size == size, "\(bound.key)") }
    }
  }

  @Test func withoutProcOnlyAMappedRecordIsOne() throws {
    var record = Self.record()
    record.startTime = 0
    record.bootID = ""
    #expect(try Self.read(#require(record.encoded())) == Self.text(record))
    record.isMapped = false
    #expect(RunRecord(bytes: try #require(record.encoded())) == nil)
  }

  @Test func aRecordNeedsOnlyTheOwnersIdentity() throws {
    let bytes = IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.owner)
      writer.unsigned(.ownerProcessID, 42, width: 4)
      writer.unsigned(.ownerStartTime, 7)
      writer.unsigned(.ownerStackStart, 8)
      writer.text(.ownerBootID, "boot")
      writer.unsigned(.ownerProcessNamespace, 9)
      writer.signed(.ownerLaunchTime, 10)
      writer.end()
      _ = writer.endDocument()
    }
    let record = try #require(RunRecord(bytes: bytes ?? []))
    #expect(record.processID == 42 && record.bootID == "boot" && record.processNamespace == 9)
    #expect(record.timeNamespace == nil && !record.isMapped)
  }

  @Test func notesAndHeartbeatLieWhereTheyAreWritten() throws {
    var record = Self.record()
    var bytes = try #require(record.encoded())
    let notes = RunNotes(
      end: .immediateExit,
      termination: RunNotes.Termination(signal: 15, reaction: .program, time: 12))
    var heartbeat = RunEvidence(time: 13)
    heartbeat.lockedFiles = ["/a", "/b c"]
    heartbeat.hangReport = ReportID()
    func write(_ value: [UInt8], at offset: Int64) {
      bytes.replaceSubrange(Int(offset)..<Int(offset) + value.count, with: value)
    }
    write(Array(notes.bytes.prefix(4)), at: RunNotePlace.offset)
    let termination = notes.bytes[8..<24]
    write(Array(termination), at: RunNotePlace.offset + RunNotePlace.terminationOffset)
    write(try #require(heartbeat.heartbeatBytes()), at: RunEvidence.heartbeatOffset)
    record.course?.notes = notes
    record.course?.heartbeat = heartbeat
    #expect(try Self.read(bytes) == Self.text(record))
  }

  @Test func aTornHeartbeatIsNone() throws {
    var record = Self.record()
    record.course?.heartbeat = RunEvidence(time: 13)
    var bytes = try #require(record.encoded())
    let start = Int(RunEvidence.heartbeatOffset)
    for index in start + 20..<start + RunEvidence.heartbeatSize { bytes[index] = 0 }
    let read = try #require(RunRecord(bytes: bytes))
    #expect(read.course?.heartbeat == nil)
    #expect(Self.text(read.course?.launch) == Self.text(record.course?.launch))
  }

  @Test func aHeartbeatThatIsTooLongLosesItsLockedFiles() throws {
    var heartbeat = RunEvidence(time: 1)
    heartbeat.lockedFiles = (0..<100).map { "/a/long/path/of/a/file/number/\($0)" }
    let bytes = try #require(heartbeat.heartbeatBytes())
    #expect(bytes.count == RunEvidence.heartbeatSize)
    let read = try #require(RunEvidence(heartbeat: bytes[...]))
    #expect(!read.lockedFiles.isEmpty && read.lockedFiles.count < 100)
  }
}
