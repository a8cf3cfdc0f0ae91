import IntermediateDump
import Testing

@Suite struct NameTests {
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

  @Test(
    arguments: [
      ("my.app@U", .finished), ("a@U.locked", .locked), ("A-b_c.1@U.run", .runRecord),
      ("a@U.fifo", .fifo),
      ("a@U.1-2-3-0.claimed", .claimed(attempt: 1, processID: 2, startTime: 3, place: 0)),
      (
        "a@U.4294967295-4294967295-18446744073709551615-ffffffff.claimed",
        .claimed(attempt: .max, processID: .max, startTime: .max, place: .max)
      ),
      (
        "a@U.1-2-3-0-a-ffffffffffffffff.claimed",
        .claimed(
          attempt: 1, processID: 2, startTime: 3, place: 0,
          witness: PendingDumpName.Witness(boot: 10, number: .max))
      ),
      (
        "a@U.1-2-3-0-a-1-4294967295.claimed",
        .claimed(
          attempt: 1, processID: 2, startTime: 3, place: 0,
          witness: PendingDumpName.Witness(boot: 10, number: 1, thread: .max))
      ),
    ] as [(String, PendingDumpName.Role)])
  func namesAreReadAndMade(template: String, role: PendingDumpName.Role) throws {
    let fileName = template.replacing("U", with: Self.uuid)
    let name = try #require(PendingDumpName(fileName: fileName))
    #expect(name.role == role)
    #expect(name.reportID == ReportID(Self.uuid))
    #expect(name.description == fileName)
    #expect(name.with(role: .finished).role == .finished)
    #expect(
      PendingDumpName(identifier: name.identifier, reportID: name.reportID, role: role) == name)
  }

  @Test(arguments: [
    "", "@", "@U", "a", "a@", "U", "aU", "a@@U", "a b@U", "a/b@U", "../a@U", ".@U", "..@U",
    "a\n@U", "a@U\n", "a@U.lock", "a@U.locked.", "a@U.LOCKED", "a@U.lockedx", "a@Ux", "a@U.",
    "a@U.claimed", "a@U..claimed", "a@U.1-2-3.claimed", "a@U.01-2-3-4.claimed",
    "a@U.1-2-3-04.claimed", "a@U.1-2-3-AB.claimed", "a@U.+1-2-3-4.claimed",
    "a@U.1--2-3-4.claimed", "a@U.-1-2-3-4.claimed", "a@U.4294967296-2-3-4.claimed",
    "a@U.1-2-3-100000000.claimed", "a@U.1-2-3-4-5.claimed", "a@U.1-2-3-4-05-6.claimed",
    "a@U.1-2-3-4-5-6-7-8.claimed", "a@U.1-2-3-4-5-6-0.claimed",
    "a@U.1-2-3-4-100000000-6.claimed", "a@U.1-2-3-4--6.claimed",
    "a@U.tmp", "\u{212A}@U", "ä@U",
    "a\u{0}@U", "a@U\u{0}", "a@\u{301}U", "a\u{FFFD}@U", "a@0123abcd-4567-489a-8bcd-ef012345678",
    "a@0123ABCD-4567-489a-8bcd-ef0123456789",
  ])
  func otherNamesAreNil(template: String) {
    #expect(PendingDumpName(fileName: template.replacing("U", with: Self.uuid)) == nil)
  }

  @Test func anotherDumpOfAnIDHasAnIDOfItsOwnAndAlwaysTheSame() throws {
    let id = try #require(ReportID(Self.uuid))
    #expect(id.other(for: 1) == id.other(for: 1))
    #expect(Set([id, id.other(for: 1), id.other(for: 2), ReportID().other(for: 1)]).count == 4)
    // RFC 9562, version 8, and the variant.
    #expect(id.other(for: 1).bytes[6] >> 4 == 8 && id.other(for: 1).bytes[8] >> 6 == 2)
    // FNV-1a of no bytes, of "a" and of "foobar".
    let known: [(String, UInt64)] = [
      ("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8),
    ]
    for (text, digest) in known { #expect(DumpDigest.of(Array(text.utf8)) == digest) }
  }

  @Test func identifiersAreReducedToWhatANameMayHold() throws {
    #expect(PendingDumpName.identifier(reducing: "my server/1") == "my-server-1")
    #expect(PendingDumpName.identifier(reducing: "") == "program")
    #expect(PendingDumpName.identifier(reducing: "..") == "program")
    #expect(PendingDumpName.identifier(reducing: "ä") == "--")
    let long = PendingDumpName.identifier(reducing: String(repeating: "x", count: 1000))
    #expect(long.utf8.count == 128)
    #expect(PendingDumpName.isValidIdentifier(long))
    #expect(!PendingDumpName.isValidIdentifier(long + "x"))
    // The longest name that can come of it fits the 255 bytes of a file name.
    let name = try #require(
      PendingDumpName(
        identifier: long, reportID: ReportID(),
        role: .claimed(
          attempt: .max, processID: .max, startTime: .max, place: .max,
          witness: PendingDumpName.Witness(boot: .max, number: .max))))
    #expect(name.description.utf8.count <= 255)
  }
}
