import DumpInspection
import IntermediateDump
import Testing

@Suite struct TreeTests {
  private func tree(_ tokens: [UInt8]) throws -> [String] {
    let document = try IntermediateDumpDocument(parsing: DumpBytes.header + tokens)
    return "\(IntermediateDumpTree(document))".split(separator: "\n").map(String.init)
  }

  @Test func aTornDumpIsPrintedToItsBreak() throws {
    let lines = try tree(
      DumpBytes.property(101, [1, 0, 0, 0]) + [0x02, 0x2C, 0x01]
        + DumpBytes.property(303, [0xFF, 0xFF, 0xFF, 0xFF])
        + DumpBytes.property(304, [0x10, 0, 0, 0, 0, 0, 0, 0x80])
        + DumpBytes.property(9999, Array(0..<20)) + [0x01, 0x00])
    #expect(
      lines == [
        "intermediate dump of version 1, x86_64, 101 bytes, written by swift-postmortem",
        "00000020  processID (4): 1",
        "0000002b  exception {3}",
        "0000002e    signalCode (4): -1",
        "00000039    faultAddress (8): 0x8000000000000010",
        "00000048    key 9999 (20): 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ...",
        "torn: a truncated property at byte 99",
      ])
  }

  @Test func textCannotReachTheTerminal() throws {
    let hostile = Array("a\u{1B}[2J\n\"\\\u{202E}\u{7F}ä".utf8) + [0xFF, 0x00, 0x41]
    let lines = try tree(DumpBytes.property(104, hostile) + [0x06])
    #expect(
      lines[1]
        == #"00000020  product (17): "a\u{1b}[2J\n\"\\\u{202e}\u{7f}ä"#
        + #"\#u{FFFD}\u{0}A""#)
    let long = try tree(DumpBytes.property(104, Array(repeating: 0x41, count: 5000)) + [0x06])
    #expect(
      long[1] == "00000020  product (5000): \"\(String(repeating: "A", count: 200))\" and more")
  }

  @Test func valuesOfTheWrongSizeAreShownAsBytes() throws {
    let lines = try tree(
      DumpBytes.property(101, [1, 2, 3]) + DumpBytes.property(107, [1])
        + DumpBytes.property(100, [5]) + DumpBytes.property(101, []) + [0x06])
    #expect(
      lines.dropFirst() == [
        "00000020  processID (3): 01 02 03", "0000002a  launchTime (1): 01",
        "00000032  process (1): 05", "0000003a  processID (0)", "complete",
      ])
  }

  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000000000Z"),
      (-1, "1969-12-31T23:59:59.999999999Z"),
      (951_782_400_000_000_001, "2000-02-29T00:00:00.000000001Z"),
      (1_709_251_199_123_456_789, "2024-02-29T23:59:59.123456789Z"),
      (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
      (.max, "2262-04-11T23:47:16.854775807Z"),
      (.min, "1677-09-21T00:12:43.145224192Z"),
    ] as [(Int64, String)])
  func timesAreReadable(time: Int64, text: String) {
    #expect(TimeText.utc(nanoseconds: time) == text)
  }
}
