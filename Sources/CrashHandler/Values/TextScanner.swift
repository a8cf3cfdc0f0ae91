/// Reads text from /proc without going beyond the text's end.
///
/// RUNS-DURING-CRASH.
struct TextScanner {
  private let text: Bytes
  private(set) var position = 0

  @_noLocks
  init(_ text: Bytes) { self.text = text }

  var isAtEnd: Bool { @_noLocks get { position >= text.count } }

  /// The byte at the position; 0 at the end.
  var current: UInt8 { @_noLocks get { text[position] } }

  /// The text from the position to the end.
  var rest: Bytes { @_noLocks get { text.dropFirst(position) } }

  /// The rest of the line, from the position on.
  var line: Bytes { @_noLocks get { rest.prefix(lengthOfLine) } }

  /// Reads one byte; returns 0 at the end.
  @_noLocks
  mutating func next() -> UInt8 {
    let byte = current
    if !isAtEnd { position &+= 1 }
    return byte
  }

  /// Skips one byte if it is the given byte.
  @_noLocks
  mutating func skip(_ byte: UInt8) {
    if current == byte { position &+= 1 }
  }

  @_noLocks
  mutating func skipBlanks() {
    while !isAtEnd, current == 0x20 || current == 0x09 { position &+= 1 }
  }

  /// Moves to the next blank or line end.
  @_noLocks
  mutating func skipWord() {
    while !isAtEnd, current != 0x20, current != 0x09, current != 0x0A { position &+= 1 }
  }

  /// Skips the given number of words and moves to the next word, but not beyond the end of the line.
  @_noLocks
  mutating func skipWords(_ count: Int) {
    for _ in Indices(count) where !isAtEnd && current != 0x0A {
      skipWord()
      skipBlanks()
    }
  }

  /// Reads the word at the position; returns no bytes if there is none.
  @_noLocks
  mutating func word() -> Bytes {
    let (start, before) = (rest, position)
    skipWord()
    return start.prefix(position &- before)
  }

  /// Moves to the start of the next line.
  @_noLocks
  mutating func skipLine() {
    position &+= lengthOfLine
    skip(0x0A)
  }

  /// The number of bytes from the position to the end of the line.
  var lengthOfLine: Int {
    @_noLocks get {
      var end = position
      while end < text.count, text[end] != 0x0A { end &+= 1 }
      return end &- position
    }
  }

  /// Reads a hexadecimal number with or without "0x"; returns 0 if there is none.
  @_noLocks
  mutating func hexadecimal() -> UInt64 {
    if current == 0x30 {
      position &+= 1
      skip(0x78)  // "x"
    }
    var value: UInt64 = 0
    while true {
      let byte = current
      let digit: UInt8
      if byte >= 0x30, byte <= 0x39 {
        digit = byte &- 0x30
      } else if byte >= 0x61, byte <= 0x66 {
        digit = byte &- 0x57
      } else {
        return value
      }
      value = value &<< 4 | UInt64(truncatingIfNeeded: digit)
      position &+= 1
    }
  }

  /// Reads a decimal number; returns 0 if there is none.
  @_noLocks
  mutating func decimal() -> UInt64 {
    var value: UInt64 = 0
    while current >= 0x30, current <= 0x39 {
      value = value &* 10 &+ UInt64(truncatingIfNeeded: current &- 0x30)
      position &+= 1
    }
    return value
  }

  /// Moves to the text after a label at the start of a line, such as "Name:".
  ///
  /// If no line from the position on begins with the label, moves to the end of the text and returns false.
  @_noLocks
  mutating func find(_ label: StaticString) -> Bool {
    while !isAtEnd {
      if matches(label) {
        position &+= label.utf8CodeUnitCount
        skipBlanks()
        return true
      }
      skipLine()
    }
    return false
  }

  /// True if the text at the position begins with the given word.
  @_noLocks
  func matches(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard length <= text.count &- position else { return false }
    for index in Indices(length) {
      if unsafe text[position &+ index] != word.utf8Start[index] { return false }
    }
    return true
  }
}
