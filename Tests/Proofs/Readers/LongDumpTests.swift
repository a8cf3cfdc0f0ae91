import CrashConverter
import CrashTestSupport
import IntermediateDump
import Testing

/// Dumps that consist of millions of tokens.
@Suite struct LongDumpTests {
  private static let header = PendingDatabase.complete.prefix(IntermediateDumpFormat.headerSize)

  /// The header, and properties without bytes.
  private static func bytes(keys: ClosedRange<UInt16>, times: Int) -> [UInt8] {
    var properties: [UInt8] = []
    for key in keys {
      properties += [IntermediateDumpToken.property]
      properties.append(littleEndian: key)
      properties.append(littleEndian: UInt32(0))
    }
    var bytes = Array(header)
    bytes.reserveCapacity(bytes.count + properties.count * times)
    for _ in 0..<times { bytes += properties }
    return bytes
  }

  @Test func tenMillionKeys() throws {
    let dumps = try PendingDatabase(inMemory: true)
    try dumps.putDump(Self.bytes(keys: 0...UInt16.max, times: 153))
    let outcomes = try processIntermediateDumps(database: dumps.path).map(\.outcome)
    #expect(outcomes.map(\.kind) == [.torn])
    #expect(outcomes.allSatisfy { $0.reason.contains("at byte") })
    #expect(try dumps.reports.count == 1)
  }

  @Test func aFileOfNothingButTokensIsReadInLinearTime() throws {
    // A file may have two million tokens, for which quadratic time would mean hours.
    let count = 1 << 21
    let document = try IntermediateDumpDocument(
      parsing: Self.bytes(keys: 101...101, times: count) + [0x06])
    #expect(document.root.entries.count == count)
    #expect(document.damage?.reason == "more tokens than a dump may have")
  }
}
