internal import CrashAnalysis
internal import IntermediateDump

extension String {
  /// Replaces characters that could control a terminal with escapes, in text from a dump or a file name.
  ///
  /// - Parameter keepingLines: true to keep line feeds and tabs.
  package func escapedForTerminal(keepingLines: Bool = false) -> String {
    // Return early, because most texts need no escapes.
    if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
    var result = ""
    for scalar in unicodeScalars {
      switch scalar.value {
      case 0x0A where keepingLines, 0x09 where keepingLines: result.unicodeScalars.append(scalar)
      case 0x0A: result += "\\n"
      case 0x09: result += "\\t"
      case _ where scalar.steersTerminal: result += "\\u{" + scalar.value.hexadecimal() + "}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Replaces the characters that could control a terminal with JSON escapes; line feeds between values stay.
  ///
  /// JSON encoders escape the C0 control characters, but no other characters that could control a terminal. The others
  /// can occur only inside JSON strings, where the escape has the same meaning as the character.
  ///
  /// Source: RFC 8259, 7.
  package func escapedForJSON() -> String {
    func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
      scalar.value >= 0x7F && scalar.steersTerminal
    }
    if utf8.allSatisfy({ $0 < 0x7F }) || !unicodeScalars.contains(where: isEscaped) { return self }
    var result = ""
    result.reserveCapacity(utf8.count)
    for scalar in unicodeScalars {
      if isEscaped(scalar) {
        result += "\\u" + scalar.value.hexadecimal(digits: 4)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// True for control characters (C0, DEL and C1), line and paragraph separators, marks that change the text direction,
  /// and the byte order mark.
  ///
  /// None of these characters is above U+FFFF, so a JSON escape with four digits is enough.
  fileprivate var steersTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0xFEFF:
      true
    default: false
    }
  }
}
