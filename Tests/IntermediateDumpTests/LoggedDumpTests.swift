import CrashTestSupport
import Testing

@testable import IntermediateDump

/// Finds the pieces of dumps in logs.
@Suite struct LoggedDumpTests {
  private static let first = dump(1, sizes: [597, 597, 31])
  private static let second = dump(2, sizes: [1, 2, 3, 4, 597, 300])

  private struct Dump {
    let payloads: [[UInt8]]
    let lines: [String]

    var digits: String { String(lines[0].dropFirst(18).prefix(16)) }
  }

  private static func dump(_ number: UInt8, sizes: [Int]) -> Dump {
    let payloads = sizes.map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 * 31 + size) }
    }
    return Dump(
      payloads: payloads,
      lines: LogPieces.lines(of: payloads, reportID: [UInt8](repeating: number, count: 16)))
  }

  private func read(_ bytes: some Sequence<UInt8>) -> (dumps: [LoggedDump], strayCount: Int) {
    var reader = LoggedDumpReader()
    reader.take(bytes)
    let whole = reader.takeFinished()
    let (rest, strayCount) = reader.finish()
    return (whole + rest, strayCount)
  }

  private func read(_ text: String) -> (dumps: [LoggedDump], strayCount: Int) {
    read(Array(text.utf8))
  }

  private func expectWhole(_ text: some StringProtocol, _ dumps: [Dump] = [first]) {
    let found = read(text.utf8)
    #expect(
      found.dumps.map { dump in (1...dump.count).map { dump.pieces[$0] } }
        == dumps.map { $0.payloads })
  }

  @Test func aPieceHasTheLimitsThatItsFormatNames() {
    #expect(Self.first.lines[0].utf8.count + 1 == LogPiece.lineSize)
    #expect(Self.first.payloads[0].count == LogPiece.payloadSize)
    #expect(Self.first.digits.count == LogPiece.idLength)
    let line = Array(Self.first.lines[2].utf8)
    let checksum = unsafe line.withUnsafeBytes {
      unsafe LogPiece.checksum(of: $0.baseAddress!, count: line.count - 9)
    }
    #expect(Self.first.lines[2].hasSuffix(String(checksum, radix: 16)))
  }

  @Test(arguments: [
    "\n", "\r\n", "\r", " ", "", "\\n", "\\\\n", "#012", "\t", ",", "\",\"",
    "\u{1B}[0m\n\u{1B}[31m",
  ])
  func piecesAreFoundHoweverTheirLinesAreJoined(_ joint: String) {
    expectWhole(Self.first.lines.joined(separator: joint))
    expectWhole("x " + Self.first.lines.map { "p" + $0 }.joined(separator: joint) + " postmortem")
  }

  @Test(arguments: [
    "\u{1B}[01;31m\u{1B}[K", "\u{1B}(B", "#033[1m", "\\033[m", "\\u001b[38;5;9m", "\\\\x1b[0m",
    "\\e[0m", "^[[7m",
  ])
  func colorsInsideAPieceAreSkipped(_ color: String) {
    let lines = Self.first.lines.map { line in
      line.replacing("postmortem-log", with: color + "postmortem-log" + color)
        .replacing("of", with: color + "of")
    }
    expectWhole(lines.joined(separator: "\n"))
  }

  @Test func theOrderDoublesAndOtherProcessesDoNotMatter() {
    let lines = (Self.first.lines + Self.second.lines).reversed().flatMap { [$0, "frame 0 x", $0] }
    let found = read(lines.joined(separator: "\n"))
    #expect(found.strayCount == 0)
    #expect(Set(found.dumps.map(\.reportDigits)) == [Self.first.digits, Self.second.digits])
    #expect(found.dumps.allSatisfy { $0.isComplete })
  }

  @Test(arguments: [1, 44, 80, 500], ["\n", "\r\n"])
  func foldedTextIsRead(_ width: Int, _ end: String) {
    let letters = Array((Self.first.lines + Self.second.lines).joined(separator: "\n"))
    let folded = stride(from: 0, to: letters.count, by: width).map { start in
      String(letters[start..<min(start + width, letters.count)])
    }
    expectWhole(folded.joined(separator: end), [Self.first, Self.second])
  }

  @Test func textInUTF16IsRead() {
    let text = Self.first.lines.joined(separator: "\n")
    let little = text.utf8.flatMap { byte -> [UInt8] in [byte, 0] }
    for bytes in [little, Array([0] + little.dropLast())] {
      #expect(read(bytes).dumps.map { $0.isComplete } == [true])
    }
  }

  @Test func missingAndDamagedPiecesAreNamed() throws {
    var lines = Self.second.lines
    lines[3] = String(lines[3].dropLast(3))
    lines[4].replaceSubrange(
      lines[4].index(
        lines[4].startIndex, offsetBy: 90)...lines[4].index(lines[4].startIndex, offsetBy: 90),
      with: "!")
    lines.remove(at: 1)
    let (dumps, strayCount) = read(lines.joined(separator: "\n"))
    let dump = try #require(dumps.count == 1 ? dumps[0] : nil)
    #expect(strayCount == 0)
    #expect(dump.missing == [2] && dump.damaged == [4, 5])
    #expect(dump.pieces.keys.sorted() == [1, 3, 6])
    #expect(dump.bytes.count == 32 + 1)
  }

  @Test func aChangedLetterIsNoticed() {
    for offset in [20, 36, 60, 500, 845] {
      var letters = Array(Self.first.lines[0].utf8)
      letters[offset] = letters[offset] == 0x41 ? 0x42 : 0x41
      let (dumps, strayCount) = read(letters)
      #expect(dumps == [] && strayCount == 1, "\(offset)")
    }
  }

  /// A piece that was cut is followed at once by the next one.
  @Test func aCutPieceDoesNotHideTheNext() {
    for length in [10, 15, 30, 44, 45, 200, 848] {
      expectWhole(Self.first.lines[0].prefix(length) + Self.first.lines.joined(separator: "\n"))
    }
  }

  @Test func piecesWithTheSameNumberAndOtherContentsAreNotUsed() {
    let other = LogPieces.lines(of: [[1], [2], [3]], reportID: [UInt8](repeating: 1, count: 16))
    let (dumps, _) = read((Self.first.lines.prefix(2) + other.prefix(1)).joined(separator: "\n"))
    #expect(dumps.map(\.damaged) == [[1]] && dumps.map { $0.pieces.count } == [1])
  }

  @Test func theBytesAreADumpWithoutAnEndMark() throws {
    let token: [UInt8] = [1, 0x2D, 1, 4, 0, 0, 0, 7, 0, 0, 0]
    let lines = LogPieces.lines(
      of: [[2, 0x2C, 1] + token + [3]], reportID: [UInt8](repeating: 9, count: 16),
      architecture: "a")
    let dump = try #require(read(lines.joined()).dumps.first)
    let document = try IntermediateDumpDocument(parsing: dump.bytes)
    #expect(document.architecture == 2 && document.writer == "swift-postmortem")
    #expect(document.root.map(.exception)?.unsigned(.exceptionThreadID) == 7)
    #expect(document.damage?.offset == dump.bytes.count)
  }
}
