import CrashTestSupport
import Foundation
import Testing

@testable import Stackwalk

/// Breakpad's text for handmade files and for a real one.
@Suite struct BreakpadSymbolsTests {
  /// A note NT_GNU_BUILD_ID.
  private static var note: [UInt8] {
    var note = DebugBytes()
    for value: UInt64 in [4, 5, 3] { note.u32(value) }
    note.text("GNU")
    note.u8(0xAB, 0xCD, 1, 0x23, 0x45, 0, 0, 0)
    return note.bytes
  }

  /// Rules for 0x1100 to 0x1140: a saved frame pointer, a CFA that Breakpad's format cannot express, the outermost
  /// function, and a restored frame pointer.
  private static var frames: [UInt8] {
    var section = CFIBytes(section: .debugFrame)
    section.cie([1, 0, 1, 0x78, 16, 0x0C, 7, 8, 0x90, 1])
    section.fde(
      0x1100..<0x1140,
      instructions: [
        0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6,
        // The operations lit1, lit1 and and.
        0x44, 0x0F, 3, 0x31, 0x31, 0x1A,
        // The frame pointer remains unspecified.
        0x48, 0x0C, 7, 8, 0xC6, 0x50, 0x07, 16, 0x44, 0x86, 2, 0x44, 0xC6,
        // An unknown instruction: the text describes nothing after it.
        0x44, 0x3F,
      ])
    return section.bytes
  }

  private static func elf(version: UInt64) -> [UInt8] {
    HandmadeELF.bytes(
      sections: DebugInformationTests.sections(version: version) + [(".debug_frame", 0, frames)],
      note: note)
  }

  /// Writes the text of a file.
  private static func text(of path: String, in directory: SharedDirectory) throws -> String {
    let symbols = try BreakpadSymbols(of: path)
    let target = directory.path + "/text"
    let descriptor = unsafe open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(try symbols.write(to: descriptor, named: target) == nil)
    return try String(contentsOfFile: target, encoding: .utf8)
  }

  @Test(arguments: [4, 5] as [UInt64])
  func functionsLinesInlinedCallsAndFrames(version: UInt64) throws {
    let directory = try SharedDirectory()
    try directory.put(Self.elf(version: version), "program")
    let text = try Self.text(of: directory.path + "/program", in: directory)
    #expect(
      text == """
        MODULE Linux x86_64 2301CDAB0045000000000000000000000 program
        INFO CODE_ID ABCD012345
        FILE 0 /build/dir/main.cpp
        FILE 1 /build/dir/include/inner.h
        INLINE_ORIGIN 0 A::Inner()
        FUNC 100 40 0 outer
        INLINE 0 300 0 0 110 8 130 4
        100 10 10 0
        110 8 77 1
        118 28 12 0
        STACK CFI INIT 100 8 .cfa: $rsp 8 + .ra: .cfa 8 - ^
        STACK CFI 101 .cfa: $rsp 16 + $rbp: .cfa 16 - ^
        STACK CFI 104 .cfa: $rbp 16 +
        STACK CFI INIT 110 1c .cfa: $rsp 8 + .ra: .cfa 8 - ^
        STACK CFI 120 .ra: 0
        STACK CFI 124 $rbp: .cfa 16 - ^
        STACK CFI 128 $rbp: $rbp

        """)
    let symbols = try BreakpadSymbols(of: directory.path + "/program")
    #expect(symbols.name == "program/2301CDAB0045000000000000000000000/program.sym")
  }

  @Test func damagedFilesAnErrorOrATextAndNoTrap() throws {
    let directory = try SharedDirectory()
    let whole = Self.elf(version: 5)
    for index in whole.indices {
      for value: UInt8 in [0, 0x7F, 0xFF] where whole[index] != value {
        var bytes = whole
        bytes[index] = value
        try directory.put(bytes, "damaged")
        guard let symbols = try? BreakpadSymbols(of: directory.path + "/damaged") else { continue }
        let descriptor = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        _ = try? symbols.write(to: descriptor, named: "nowhere")
      }
    }
  }

  @Test func whatCannotBeWrittenIsAnError() throws {
    let directory = try SharedDirectory()
    try directory.put(Self.elf(version: 5), "program")
    let symbols = try BreakpadSymbols(of: directory.path + "/program")
    #expect(throws: StackwalkError.self) { try symbols.write(to: -1, named: "nowhere") }
  }

  @Test func ofARealProgramTheSameEachTimeAndNoTwoRecordsForOneAddress() async throws {
    let directory = try SharedDirectory()
    let path = try await BuiltProducts.shared.executable("HandlerOnlyVictim", .asTested)
    let text = try Self.text(of: path, in: directory)
    #expect(try Self.text(of: path, in: directory) == text)
    var functions: [Range<UInt64>] = []
    var frames: [Range<UInt64>] = []
    var last: UInt64 = 0
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      func range(_ index: Int) throws -> Range<UInt64> {
        let start = try #require(UInt64(words[index], radix: 16))
        return start..<start + (try #require(UInt64(words[index + 1], radix: 16)))
      }
      if words[0] == "FUNC" { functions.append(try range(1)) }
      if line.hasPrefix("STACK CFI INIT ") {
        frames.append(try range(3))
        last = frames[frames.count - 1].lowerBound
      } else if words[0] == "STACK" {
        let place = try #require(UInt64(words[2], radix: 16))
        #expect(place > last && frames[frames.count - 1].contains(place))
        last = place
      }
    }
    #expect(functions.count > 100 && frames.count > 100)
    for ranges in [functions, frames] {
      let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
      for (left, right) in zip(sorted, sorted.dropFirst()) {
        #expect(left.upperBound <= right.lowerBound)
      }
    }
    let hasMain = text.contains(" 0 HandlerOnlyVictim_main\n")
    #expect(hasMain)
    let hasPublic = text.contains("\nPUBLIC ")
    #expect(hasPublic)
  }

  @Test func dwarfsExpressionsAsPostfixOnesOrNotAtAll() {
    let map = BreakpadMachine(elfMachine: 62).registers
    let expressions = BreakpadExpression(registers: map)
    func text(_ bytes: UInt8...) -> String? { expressions.text(.expression(bytes[...]), of: 3) }
    // The operations breg7 144; breg6 -8, deref; lit16, plus; dup and plus; const1s -8.
    #expect(text(0x77, 0x90, 0x01) == "$rsp 144 + ^")
    #expect(text(0x76, 0x78, 0x06) == "$rbp 8 - ^ ^")
    #expect(text(0x40, 0x22) == ".cfa 16 + ^")
    #expect(text(0x12, 0x22) == ".cfa .cfa + ^")
    #expect(text(0x09, 0xF8, 0x22) == ".cfa 0 8 - + ^")
    #expect(text(0x23, 24) == ".cfa 24 + ^")
    // The operation and, a register without a name, an unknown operation, an empty stack, and an expression that
    // is too long.
    #expect(text(0x31, 0x1A) == nil)
    #expect(text(0x92, 17, 0) == nil)
    #expect(text(0xE0) == nil)
    #expect(text(0x13) == nil)
    #expect(
      expressions.text(.expression([UInt8](repeating: 0x12, count: 40)[...]), of: 3) == nil)
    #expect(expressions.text(.register(UInt64.max, offset: 8)) == nil)
    #expect(expressions.text(.register(7, offset: Int64.min)) == "$rsp 9223372036854775808 -")
  }
}
