import Testing

@testable import CrashHandler

/// Text that is put together in fixed memory.
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
    // C1, bidirectional marks, line separator, byte order mark.
    for scalar: Unicode.Scalar in ["\u{9B}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{FEFF}"] {
      let isPlain = escaped(Array(String(scalar).utf8)).allSatisfy { $0.isASCII }
      #expect(isPlain)
    }
    // Overlong, surrogate, too great, cut off, stray continuation.
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
    #expect(text { SignalWords.append(signal: 11, to: &$0) }.text == "SIGSEGV")
    #expect(text { SignalWords.append(signal: 1, to: &$0) }.text == "SIGHUP")
    #expect(text { SignalWords.append(signal: 31, to: &$0) }.text == "SIGSYS")
    #expect(text { SignalWords.append(signal: 34, to: &$0) }.text == "34")
    #expect(text { SignalWords.append(code: -6, of: 6, to: &$0) }.text == "SI_TKILL")
    #expect(text { SignalWords.append(code: .min, of: 6, to: &$0) }.text == "\(Int32.min)")
    #expect(text { SignalWords.append(code: 2, of: 31, to: &$0) }.text == "SYS_USER_DISPATCH")
    #expect(text { SignalWords.append(code: 3, of: 31, to: &$0) }.text == "3")
    #expect(text { SignalWords.append(code: 9, of: 11, to: &$0) }.text == "SEGV_MTESERR")
    #expect(text { SignalWords.append(errno: 28, to: &$0) }.text == "ENOSPC")
    #expect(text { SignalWords.append(errno: 122, to: &$0) }.text == "122")
    #expect(text { SignalWords.append(errno: 0, to: &$0) }.text == "0")
  }
}
