import Testing

@testable import CrashHandler

@Suite struct TextScannerTests {
  private func withScanner<Result>(
    _ text: String, _ body: (inout TextScanner) throws -> Result
  ) rethrows -> Result {
    let bytes = Array(text.utf8)
    return try unsafe bytes.withUnsafeBytes { buffer in
      var scanner = unsafe Bytes(buffer.baseAddress!, count: buffer.count).text
      return try body(&scanner)
    }
  }

  @Test func readsHexadecimalWithAndWithoutPrefix() {
    #expect(withScanner("7f19dbbf8000-") { $0.hexadecimal() } == 0x7f19_dbbf_8000)
    #expect(withScanner("0x7ffd12 ") { $0.hexadecimal() } == 0x7ffd12)
    #expect(withScanner("0x0 ") { $0.hexadecimal() } == 0)
    #expect(withScanner("00000000 ") { $0.hexadecimal() } == 0)
    #expect(withScanner("-5 ") { $0.hexadecimal() } == 0)
  }

  @Test func findsLabelsAtLineStartsOnly() {
    let status = "Name:\tState: x\nState:\tS (sleeping)\nSigBlk:\tfffffffe3bfbea27\n"
    withScanner(status) { scanner in
      let hasState = scanner.find("State:")
      #expect(hasState)
      #expect(scanner.current == UInt8(ascii: "S"))
      let hasMask = scanner.find("SigBlk:")
      #expect(hasMask)
      let mask = scanner.hexadecimal()
      #expect(mask == 0xffff_fffe_3bfb_ea27)
      let hasName = scanner.find("Name:")
      #expect(!hasName)
      #expect(scanner.isAtEnd)
    }
  }

  @Test func staysInsideTextThatIsCut() {
    for text in ["x", "Sig", "SigBlk:", "SigBlk:\t", "\n", "0x", "0"] {
      withScanner(text) { scanner in
        _ = scanner.find("SigBlk:")
        _ = scanner.hexadecimal()
        scanner.skipWord()
        scanner.skipLine()
        _ = scanner.next()
        #expect(scanner.isAtEnd, "\(text)")
        #expect(scanner.position <= text.utf8.count + 1)
      }
    }
  }
}
