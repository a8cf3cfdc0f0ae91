import DumpInspection
import IntermediateDump
import Testing

@testable import CrashReportDatabase

/// Encoding and decoding of report details in the bytes of an index record.
@Suite struct ReportDetailsTests {
  private static var full: ReportDetails {
    var details = ReportDetails()
    for fact in ReportDetails.Text.all { details[fact] = "text \(fact.rawValue)" }
    for fact in ReportDetails.Number.all { details[fact] = UInt64(fact.rawValue) << 40 | 7 }
    details.kind = .hang
    details.isComplete = false
    details.ownFrames = ["Basket.firstItem(of:) at main.swift:28", ""]
    details.stack = ["a", "b", "c"]
    details.tags = [.init(name: "request", value: "é"), .init(name: "", value: "")]
    return details
  }

  @Test func areReadAsTheyWereWritten() {
    #expect(ReportDetails(reading: Self.full.bytes[...]) == Self.full)
    let empty = ReportDetails()
    #expect(ReportDetails(reading: empty.bytes[...]) == empty)
    #expect(!empty.bytes.isEmpty, "an empty one is not a missing one")
  }

  /// The keys must never change, because one file has records of all versions.
  @Test func keepTheirKeys() {
    #expect(ReportDetails.Number.all.map(\.rawValue) == Array(1...15))
    #expect(ReportDetails.Text.all.map(\.rawValue) == Array(32...43))
    #expect(ReportDetails.Number.age.rawValue == 12 && ReportDetails.Number.tasks.rawValue == 13)
    #expect(ReportDetails.Text.buildID.rawValue == 39)
    #expect(
      IndexNames.all.map { "\($0.fact.field) \($0.key)" } == [
        "3 processID", "5 hangTime", "8 memoryUsed", "9 memoryLimit", "10 threadsFound",
        "11 descriptorCount", "34 requestErrorType", "35 hostName", "37 environment",
        "38 executablePath", "41 distribution", "42 kernelRelease", "43 clientID",
      ])
  }

  /// The values of the oldest work have precedence over annotations when space runs out.
  @Test func theValuesOfWorkAreKept() throws {
    var details = Self.full
    details.inFlightValues = [.init(name: "route", value: "/a"), .init(name: "route", value: "/b")]
    details[.oldestInFlight] = 43_000_000_000
    let found = try #require(ReportDetails(reading: details.bytes[...]))
    #expect(found == details && found.inFlightValues.count == 2 && found.tags == Self.full.tags)
  }

  @Test func everyCutIsWholeOrNone() {
    let bytes = Self.full.bytes
    for count in 0..<bytes.count {
      let cut = ReportDetails(reading: bytes[..<count])
      #expect(cut != Self.full)
    }
    for position in bytes.indices {
      var changed = bytes
      changed[position] ^= 0xFF
      // Any result is acceptable, as long as reading does not trap.
      _ = ReportDetails(reading: changed[...])
    }
  }

  @Test func unknownFieldsAreSkipped() {
    let unknown: [UInt8] = [200, 3, 0, 1, 2, 3, 31 - 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    #expect(ReportDetails(reading: (unknown + Self.full.bytes)[...]) == Self.full)
  }

  @Test func longTextsAndManyTagsAreCutAndSaidToBe() throws {
    var details = Self.full
    details[text: .hostName] = String(repeating: "é", count: 1000)
    details.tags = (0..<1000).map { .init(name: "name \($0)", value: "value") }
    details.tags.insert(.init(name: "long", value: String(repeating: "x", count: 5000)), at: 0)
    let bytes = details.bytes
    #expect(bytes.count <= 6 << 10)
    let found = try #require(ReportDetails(reading: bytes[...]))
    #expect(found.isCut && !Self.full.isCut)
    #expect(found[text: .hostName] == String(repeating: "é", count: 128))
    #expect(found.tags.first?.value.utf8.count == 1 << 10)
    #expect(found.tags.count > 100 && found.tags.count < 1000)
    #expect(found.ownFrames == details.ownFrames)
    // Once shortened, the details stay marked as shortened.
    #expect(ReportDetails(reading: found.bytes[...])?.isCut == true)
  }

  /// The index can read a record with the longest texts and details.
  @Test func theLargestFactsFitIntoARecord() {
    var facts = ReportFacts()
    let long = String(repeating: "x", count: 5000)
    (facts.program, facts.version, facts.cause) = (long, long, long)
    (facts.message, facts.signature, facts.place, facts.end) = (long, long, long, long)
    var details = ReportDetails()
    details.tags = (0..<100).map { .init(name: "\($0)", value: long) }
    facts.details = details
    var bytes: [UInt8] = []
    facts.append(to: &bytes)
    #expect(bytes.count + 32 <= 16 << 10)
    #expect(ReportFacts(reading: bytes[...])?.details?.isCut == true)
  }

  @Test func factsWithoutDetailsHaveNone() {
    var facts = ReportFacts()
    facts.program = "Shop"
    var bytes: [UInt8] = []
    facts.append(to: &bytes)
    let read = ReportFacts(reading: bytes[...])
    #expect(read == facts && read?.details == nil && read?.detailBytes == nil)
  }
}
