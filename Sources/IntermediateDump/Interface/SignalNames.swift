/// The names of signals and of their codes, for code outside a crash; the crash summary uses `SignalTable` directly.
package enum SignalNames {
  package static func name(_ signal: Int32) -> String? {
    (1...31).contains(signal) ? word(0, ofLine: signal) : nil
  }

  /// The name of a signal, or a text such as "signal 40".
  package static func text(_ signal: Int32) -> String { name(signal) ?? "signal \(signal)" }

  package static func codeName(signal: Int32, code: Int32) -> String? {
    if code == 0x80 { return "SI_KERNEL" }
    if code <= 0 { return word(1 &- code, ofLine: SignalTable.sentLine) }
    return (1...31).contains(signal) ? word(code, ofLine: signal) : nil
  }

  /// Returns the word with a given number from a line of the table: word 0 is the line's name, and the other words
  /// are the names of the line's codes.
  private static func word(_ number: Int32, ofLine line: Int32) -> String? {
    // This code compares bytes, because splitting a string would add kilobytes of code to each program.
    let bytes = Array(SignalTable.text.description.utf8)
    var (start, count, isWanted) = (0, Int32(0), false)
    for place in 0...bytes.count {
      let end = place < bytes.count ? bytes[place] : UInt8(ascii: "\n")
      guard end == UInt8(ascii: " ") || end == UInt8(ascii: "\n") else { continue }
      let word = bytes[start..<place]
      if count == 0 {
        isWanted = word.reduce(Int32(0)) { $0 &* 10 &+ Int32($1 & 0x0F) } == line
      } else if isWanted, number >= 0, count == number &+ 2 {
        return String(decoding: word, as: UTF8.self)
      }
      if end == UInt8(ascii: "\n") {
        if isWanted { return nil }
        count = 0
      } else {
        count &+= 1
      }
      start = place &+ 1
    }
    return nil
  }
}
