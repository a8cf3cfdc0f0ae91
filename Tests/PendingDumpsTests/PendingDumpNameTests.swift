import IntermediateDump
import PendingDumps
import Testing

@Suite struct PendingDumpNameTests {
  private static let uuid = "0123abcd-4567-489a-8bcd-ef0123456789"

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

  @Test func identifiersAreReducedToWhatANameMayHold() throws {
    #expect(PendingDumpName.identifier(reducing: "my server/1") == "my-server-1")
    #expect(PendingDumpName.identifier(reducing: "") == "program")
    #expect(PendingDumpName.identifier(reducing: "..") == "program")
    #expect(PendingDumpName.identifier(reducing: "ä") == "--")
    let long = PendingDumpName.identifier(reducing: String(repeating: "x", count: 1000))
    #expect(long.utf8.count == 128)
    #expect(PendingDumpName.isValidIdentifier(long))
    #expect(!PendingDumpName.isValidIdentifier(long + "x"))
    // The longest name with this identifier fits into the 255 bytes of a file name.
    let name = try #require(
      PendingDumpName(
        identifier: long, reportID: ReportID(),
        role: .claimed(
          attempt: .max, processID: .max, startTime: .max, place: .max,
          witness: PendingDumpName.Witness(boot: .max, number: .max))))
    #expect(name.description.utf8.count <= 255)
  }
}
