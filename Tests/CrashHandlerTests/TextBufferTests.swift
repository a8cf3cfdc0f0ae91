import IntermediateDump
import Testing

@testable import CrashHandler

/// Text that is assembled in fixed memory.
@Suite struct TextBufferTests {
  private func text(
    capacity: Int = 256, _ body: (inout TextBuffer) -> Void
  ) -> (text: String, isCut: Bool) {
    let place = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    defer { unsafe place.deallocate() }
    var buffer = unsafe TextBuffer(place, capacity: capacity)
    body(&buffer)
    let bytes = unsafe UnsafeRawBufferPointer(start: place, count: buffer.count)
    return (String(decoding: unsafe Array(bytes), as: UTF8.self), buffer.isCut)
  }

  private func escaped(_ bytes: [UInt8], limit: Int = 200) -> String {
    text { buffer in
      unsafe bytes.withUnsafeBytes {
        unsafe buffer.append(escaping: Bytes($0.baseAddress!, count: $0.count), limit: limit)
      }
    }.text
  }

  @Test func numbersAreWrittenAsSwiftWritesThem() {
    for value in [Int64.min, -1, 0, 9, 10, .max] {
      #expect(text { $0.append(decimal: value) }.text == "\(value)")
    }
    for value in [UInt64.min, 15, 16, .max] {
      #expect(text { $0.append(hexadecimal: value) }.text == String(value, radix: 16))
    }
    #expect(text { $0.append(hexadecimal: 7, digits: 2) }.text == "07")
  }

  @Test func whatDoesNotFitIsLeftOutWhole() {
    let cut = text(capacity: 4) { buffer in
      buffer.append("abc")
      buffer.append("de")
      buffer.append(byte: 0x66)
    }
    #expect(cut.text == "abc")
    #expect(cut.isCut)
  }

  @Test func charactersAreKeptAndControlsEscaped() {
    #expect(escaped(Array("plain ü 漢 😀".utf8)) == "plain ü 漢 😀")
    #expect(escaped([0x0A, 0x0D, 0x09, 0x5C, 0x00, 0x1B, 0x7F]) == #"\n\r\t\\\x00\x1b\x7f"#)
    // A C1 control, bidirectional marks, a line separator, and a byte order mark.
    for scalar: Unicode.Scalar in ["\u{9B}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{FEFF}"] {
      let isPlain = escaped(Array(String(scalar).utf8)).allSatisfy { $0.isASCII }
      #expect(isPlain)
    }
    // An overlong form, a surrogate, a value that is too large, a truncated sequence, and a stray continuation
    // byte.
    for bytes: [UInt8] in [
      [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
    ] {
      let expected = bytes.map { #"\x"# + String($0, radix: 16) }.joined()
      #expect(escaped(bytes) == expected)
    }
  }

  @Test func longTextEndsInThreeDots() {
    for limit in 16..<40 {
      let result = escaped(Array(repeating: 0x1B, count: 100), limit: limit)
      #expect(result.utf8.count <= limit)
      #expect(result.hasSuffix(#"\x1b..."#))
    }
    #expect(escaped(Array("short".utf8), limit: 40) == "short")
  }

  @Test func numbersHaveTheNamesOfTheManuals() {
    func name(_ number: Int32, ofLine line: Int32, orElse value: Int32) -> String {
      text { $0.appendName(number, ofLine: line, orElse: value) }.text
    }
    for signal: Int32 in 1...31 {
      #expect(name(0, ofLine: signal, orElse: signal) == " \(SignalNames.text(signal))")
    }
    #expect(name(0, ofLine: 11, orElse: 11) == " SIGSEGV")
    #expect(name(0, ofLine: 34, orElse: 34) == " 34")
    #expect(name(7, ofLine: SignalTable.sentLine, orElse: -6) == " SI_TKILL")
    #expect(name(1 &- .min, ofLine: SignalTable.sentLine, orElse: .min) == " \(Int32.min)")
    #expect(name(2, ofLine: 31, orElse: 2) == " SYS_USER_DISPATCH")
    #expect(name(3, ofLine: 31, orElse: 3) == " 3")
    #expect(name(9, ofLine: 11, orElse: 9) == " SEGV_MTESERR")
    #expect(name(28, ofLine: SignalTable.errnoLine, orElse: 28) == " ENOSPC")
    #expect(name(122, ofLine: SignalTable.errnoLine, orElse: 122) == " 122")
    #expect(name(0, ofLine: SignalTable.errnoLine, orElse: 0) == " 0")
  }

  @Test func reportsReadTheSameNames() {
    #expect(SignalNames.name(1) == "SIGHUP" && SignalNames.name(31) == "SIGSYS")
    #expect(SignalNames.name(0) == nil && SignalNames.name(32) == nil)
    #expect(SignalNames.text(34) == "signal 34")
    let codes: [(signal: Int32, code: Int32, name: String?)] = [
      (6, -6, "SI_TKILL"), (6, 0, "SI_USER"), (6, 0x80, "SI_KERNEL"), (6, .min, nil),
      (6, .max, nil), (31, 2, "SYS_USER_DISPATCH"), (31, 3, nil), (11, 9, "SEGV_MTESERR"),
      (0, 1, nil), (98, 1, nil), (99, 1, nil), (.min, 1, nil),
    ]
    for (signal, code, name) in codes {
      #expect(SignalNames.codeName(signal: signal, code: code) == name)
    }
  }
}
