internal import IntermediateDump

/// Reads the table of signals during a crash.
///
/// RUNS-DURING-CRASH.
extension SignalTable {
  /// A word from the line that begins with a given number; empty if there is no such word.
  ///
  /// Word 1 contains the letters of the signal's classes, and word 2 is the signal's name.
  @_noLocks
  static func word(_ index: Int, ofLine line: Int32) -> Bytes {
    var lines = Bytes(text).text
    while !lines.isAtEnd, lines.decimal() != UInt64(truncatingIfNeeded: line) { lines.skipLine() }
    lines.skipWords(index)
    return lines.word()
  }

  /// True for a signal of the class `kernelEvent`.
  @_noLocks
  static func isKernelEvent(_ signal: Int32) -> Bool {
    let classes = word(1, ofLine: signal)
    var index = 0
    while index < classes.count, classes[index] != 0x6B { index &+= 1 }  // "k"
    return index < classes.count
  }
}
