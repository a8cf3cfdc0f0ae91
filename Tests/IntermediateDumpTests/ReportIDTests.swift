import IntermediateDump
import Testing

@Suite struct ReportIDTests {
  private static let uuid = "0123abcd-4567-489a-8bcd-ef0123456789"

  @Test func aReportIDIsReadAndPrinted() throws {
    let id = try #require(ReportID(Self.uuid))
    #expect(
      id.bytes == [
        0x01, 0x23, 0xAB, 0xCD, 0x45, 0x67, 0x48, 0x9A, 0x8B, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67,
        0x89,
      ])
    #expect(id.description == Self.uuid)
    #expect(ReportID(Self.uuid.uppercased()) == id)
    #expect(ReportID(bytes: id.bytes) == id)
    #expect(ReportID(bytes: [1, 2]) == nil)
  }

  @Test func aNewReportIDIsOfVersion4AndNeverTheSame() {
    let ids = (0..<1000).map { _ in ReportID() }
    #expect(Set(ids).count == 1000)
    #expect(ids.allSatisfy { $0.bytes[6] >> 4 == 4 && $0.bytes[8] >> 6 == 2 })
    #expect(ids.sorted().first == ids.min { "\($0)" < "\($1)" })
  }

  @Test(arguments: [
    "", "-", "0123abcd-4567-489a-8bcd-ef012345678", "0123abcd-4567-489a-8bcd-ef01234567890",
    "0123abcd44567-489a-8bcd-ef0123456789", "0123abcd-4567-489a-8bcd-ef012345678g",
    "0123abcd-4567-489a-8bcd-ef01234567é", "{123abcd-4567-489a-8bcd-ef0123456789",
    "0123abcd-4567-489a-8bcd-ef01234567\u{FF19}", "------------------------------------",
  ])
  func whatIsNoReportIDIsNil(text: String) {
    #expect(ReportID(text) == nil)
  }

  @Test func anotherDumpOfAnIDHasAnIDOfItsOwnAndAlwaysTheSame() throws {
    let id = try #require(ReportID(Self.uuid))
    #expect(id.other(for: 1) == id.other(for: 1))
    #expect(Set([id, id.other(for: 1), id.other(for: 2), ReportID().other(for: 1)]).count == 4)
    // The ID has RFC 9562's version 8 and its variant bits.
    #expect(id.other(for: 1).bytes[6] >> 4 == 8 && id.other(for: 1).bytes[8] >> 6 == 2)
    // Known FNV-1a hashes of the empty text, "a" and "foobar".
    let known: [(String, UInt64)] = [
      ("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8),
    ]
    for (text, digest) in known { #expect(DumpDigest.of(Array(text.utf8)) == digest) }
  }

  @Test func aDigestOfWordsSeesEachByteThatChanges() {
    let bytes = (0..<29).map { UInt8($0 * 9) }
    let digest = DumpDigest.ofWords(bytes[...])
    // With less than a whole word, both digests are equal; the digest does not depend on the bytes' offset in an
    // array.
    #expect(DumpDigest.ofWords(bytes[..<7]) == DumpDigest.of(bytes[..<7]))
    #expect(DumpDigest.ofWords(([1, 2, 3] + bytes).dropFirst(3)) == digest)
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        #expect(DumpDigest.ofWords(changed[...]) != digest, "\(index).\(bit)")
      }
    }
    #expect(DumpDigest.ofWords(bytes.dropLast()) != digest)
  }
}
