/// The dump of a crash in a log: its pieces, as far as they were found.
package struct LoggedDump: Sendable, Equatable {
  /// The first 16 hexadecimal digits of the report ID.
  package let reportDigits: String
  /// The architecture byte of a dump's header.
  package let architecture: UInt8
  /// The number of pieces that the handler printed.
  package let count: Int
  /// The bytes in the pieces that were found, by the pieces' numbers from 1.
  package fileprivate(set) var pieces: [Int: [UInt8]] = [:]
  /// The numbers of the pieces that were found only cut or changed, or with different contents.
  package fileprivate(set) var damaged: Set<Int> = []

  package var isComplete: Bool { pieces.count == count }
  /// The numbers of the pieces that were not found at all.
  package var missing: [Int] {
    (1...count).filter { pieces[$0] == nil && !damaged.contains($0) }
  }

  /// The bytes of the dump: a header, and the tokens in the pieces before the first one that is missing or damaged,
  /// without an end mark.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: IntermediateDumpFormat.magic)
    bytes.append(littleEndian: IntermediateDumpFormat.version)
    bytes += [architecture, 8]
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: IntermediateDumpFormat.headerSize))
    bytes += Array("swift-postmortem".utf8)
    return bytes + (1...count).lazy.map { pieces[$0] }.prefix { $0 != nil }.flatMap { $0 ?? [] }
  }
}

/// Finds the pieces of dumps in a log, whatever text surrounds them, and puts them together.
///
/// A piece may come in any order and more than once. Between the letters of a piece, NULs are skipped, as they occur in
/// UTF-16, and line ends, as in folded text, and escape sequences that color text. A piece with any other change is
/// damaged, because its checksum is wrong.
package struct LoggedDumpReader {
  private struct Key: Hashable {
    let reportDigits: String
    let architecture: UInt8
    let count: Int
  }

  /// The fields before a piece's payload.
  private struct Head {
    let key: Key
    let number: Int
    /// The number of letters of the whole piece.
    let length: Int
  }

  private static let mark = unsafe Array(
    UnsafeBufferPointer(start: LogPiece.mark.utf8Start, count: LogPiece.mark.utf8CodeUnitCount))
  /// The number of letters before the payload, and after it.
  private static let (headSize, tailSize) = (44, 9)
  /// The maximum number of incomplete dumps, of which the oldest one is then returned as it is, and of damaged pieces
  /// that are kept until the end of the log.
  private static let maximumOpen = 4096
  /// The maximum number of returned dumps of which further copies are recognized.
  private static let maximumKnown = 65536

  /// The letters of the current piece so far.
  private var letters: [UInt8] = []
  private var head: Head?
  /// Bytes after the current piece's letters that may be an escape sequence.
  private var interruption: [UInt8] = []
  private var open: [LoggedDump] = []
  private var finished: [LoggedDump] = []
  /// The dumps that were returned, so that further copies of their pieces are not treated as other dumps.
  private var known: Set<Key> = []
  private var damage: [(key: Key, number: Int)] = []
  /// The number of damaged pieces whose dump is not known.
  private var strayCount = 0

  package init() {}

  package mutating func take(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { take(byte) }
  }

  /// Returns and removes the dumps of which all pieces were found.
  package mutating func takeFinished() -> [LoggedDump] {
    defer { finished = [] }
    return finished
  }

  /// Returns the other dumps, at the end of the log, and the number of damaged pieces that belong to none of the dumps.
  package mutating func finish() -> (dumps: [LoggedDump], strayCount: Int) {
    while !letters.isEmpty || !interruption.isEmpty { giveUp() }
    for (key, number) in damage where !known.contains(key) {
      if let index = index(of: key) {
        if open[index].pieces[number] == nil { open[index].damaged.insert(number) }
      } else {
        strayCount += 1
      }
    }
    finished += open
    (open, damage) = ([], [])
    return (takeFinished(), strayCount)
  }

  private mutating func take(_ byte: UInt8) {
    if letters.isEmpty {
      if byte == Self.mark[0] { letters = [byte] }
      return
    }
    if byte == 0 || byte == 0x0A || byte == 0x0D { return }
    if !interruption.isEmpty || !isExpected(byte) {
      interruption.append(byte)
      switch EscapeSequence(interruption) {
      case .whole: interruption = []
      case .beginning: break
      case .none: giveUp()
      }
      return
    }
    letters.append(byte)
    guard letters.count >= Self.headSize else { return }
    if head == nil {
      head = head(of: letters)
      if head == nil { return giveUp() }
    }
    if letters.count == head?.length { addPiece() }
  }

  /// True for a letter that may be the next one of the current piece.
  private func isExpected(_ byte: UInt8) -> Bool {
    if letters.count < Self.mark.count { return byte == Self.mark[letters.count] }
    return Self.sextet(byte) != nil
  }

  /// Leaves out the current piece, and searches its letters for the beginning of another one.
  private mutating func giveUp() {
    let rest = letters.dropFirst() + interruption
    if let head, damage.count < Self.maximumOpen {
      damage.append((head.key, head.number))
    } else if letters.count >= Self.mark.count {
      strayCount += 1
    }
    (letters, interruption, head) = ([], [], nil)
    take(rest)
  }

  private func head(of letters: [UInt8]) -> Head? {
    let fields = String(decoding: letters[Self.mark.count..<Self.headSize], as: UTF8.self)
      .split(separator: "-", omittingEmptySubsequences: false)
    guard fields.count == 5, fields[0] == "1a" || fields[0] == "1x", fields[1].utf8.count == 16,
      fields[1].utf8.allSatisfy(Self.isHexadecimal), fields[2].utf8.count == 4,
      fields[2].dropFirst().hasPrefix("of"), let number = fields[2].first?.wholeNumberValue,
      let count = fields[2].last?.wholeNumberValue, let size = Int(fields[3]),
      (1...LogPiece.maximumCount).contains(count), number >= 1, number <= count,
      (2...LogPiece.lineSize).contains(size), fields[4].isEmpty
    else { return nil }
    return Head(
      key: Key(
        reportDigits: String(fields[1]), architecture: fields[0] == "1a" ? 2 : 1, count: count),
      number: number, length: Self.headSize + size + Self.tailSize)
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  private mutating func addPiece() {
    guard let head, let tokens = Self.payload(of: letters) else { return giveUp() }
    (letters, self.head) = ([], nil)
    guard !known.contains(head.key) else { return }
    let index: Int
    if let place = self.index(of: head.key) {
      index = place
    } else {
      if open.count == Self.maximumOpen { close(0) }
      open.append(
        LoggedDump(
          reportDigits: head.key.reportDigits, architecture: head.key.architecture,
          count: head.key.count))
      index = open.count - 1
    }
    // Two reports with the same digits are not mixed: of pieces with the same number, none is used.
    if open[index].pieces[head.number] ?? tokens != tokens {
      open[index].damaged.insert(head.number)
      open[index].pieces[head.number] = nil
    }
    guard !open[index].damaged.contains(head.number) else { return }
    open[index].pieces[head.number] = tokens
    if open[index].isComplete { close(index) }
  }

  private mutating func close(_ index: Int) {
    let dump = open.remove(at: index)
    if known.count == Self.maximumKnown { known = [] }
    known.insert(Self.key(dump))
    finished.append(dump)
  }

  private func index(of key: Key) -> Int? { open.lastIndex { Self.key($0) == key } }

  private static func key(_ dump: LoggedDump) -> Key {
    Key(reportDigits: dump.reportDigits, architecture: dump.architecture, count: dump.count)
  }

  /// Checks and decodes a whole piece; nil if its checksum is wrong.
  private static func payload(of letters: [UInt8]) -> [UInt8]? {
    let end = letters.count - tailSize
    let checksum = unsafe letters.withUnsafeBytes { bytes in
      unsafe bytes.baseAddress.map { unsafe LogPiece.checksum(of: $0, count: end) }
    }
    guard letters[end] == UInt8(ascii: "-"), let checksum,
      UInt32(String(decoding: letters[(end + 1)...], as: UTF8.self), radix: 16) == checksum
    else { return nil }
    var (bytes, rest, bits): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for letter in letters[headSize..<end] {
      guard let sextet = sextet(letter) else { return nil }
      rest = rest << 6 | UInt32(sextet)
      bits &+= 6
      guard bits >= 8 else { continue }
      bits &-= 8
      bytes.append(UInt8(truncatingIfNeeded: rest >> bits))
    }
    return bytes
  }

  /// The value of a letter of base64url; nil for any other byte.
  private static func sextet(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter &- 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): letter &- 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter &+ 4
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

/// Whether bytes are an escape sequence that colors text, also if the escape character was escaped.
///
/// Source: ECMA-48, 5.4 (control sequences) and 8.3.117 (SGR).
private enum EscapeSequence {
  case whole, beginning, none

  /// The forms of the escape character; in front of a backslash, there may be others.
  private static let forms = [
    "\u{1B}", "#033", "\\033", "\\x1b", "\\x1B", "\\u001b", "\\u001B", "\\e", "^[",
  ]
  .map { Array($0.utf8) }

  init(_ bytes: [UInt8]) {
    let backslashes = bytes.prefix { $0 == UInt8(ascii: "\\") }.count
    let bytes = bytes.dropFirst(max(backslashes - 1, 0))
    guard let form = Self.forms.first(where: { bytes.starts(with: $0) }) else {
      self = Self.forms.contains { $0.starts(with: bytes) } && backslashes < 8 ? .beginning : .none
      return
    }
    let rest = bytes.dropFirst(form.count)
    guard let first = rest.first else {
      self = .beginning
      return
    }
    if first == UInt8(ascii: "(") {
      self = rest.count > 1 ? .whole : .beginning
      return
    }
    guard first == UInt8(ascii: "["), rest.count < 64 else {
      self = .none
      return
    }
    guard let final = rest.dropFirst().first(where: { !(0x30...0x3F).contains($0) }) else {
      self = .beginning
      return
    }
    self = (0x40...0x7E).contains(final) ? .whole : .none
  }
}
