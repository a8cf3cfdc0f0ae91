import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// Which of several symbols is used as the name of an address.
@Suite struct SymbolTableTests {
  private struct Symbol {
    var name: String
    /// Binding and type: 0x12 is a global function, 0 a local label, 0x10 a global label.
    var info: UInt8
    var address: UInt64
    var size: UInt64 = 0
  }

  /// The names that a file with these symbols gives to addresses; it has code from 0x1000 to 0x1400.
  private func names(
    _ symbols: [Symbol], machine: UInt64, at addresses: [UInt64]
  ) throws -> [String?] {
    var bytes = ELFFileTests.handmade
    func put(_ value: [UInt8], at offset: Int) {
      bytes.replaceSubrange(offset..<offset + value.count, with: value)
    }
    var (table, strings) = ([UInt8](repeating: 0, count: 24), [UInt8](repeating: 0, count: 1))
    for symbol in symbols {
      table += littleEndian(UInt64(strings.count), 4) + [symbol.info, 0] + littleEndian(1, 2)
      table += littleEndian(symbol.address) + littleEndian(symbol.size)
      strings += Array(symbol.name.utf8) + [0]
    }
    // The symbol table and its names follow the rest. Their section headers are the second and third after offset
    // 512.
    for (header, part) in [(512 + 64, table), (512 + 128, strings)] {
      put(littleEndian(UInt64(bytes.count)) + littleEndian(UInt64(part.count)), at: header + 24)
      bytes += part
    }
    put(littleEndian(machine, 2), at: 18)
    let directory = try TemporaryDirectory()
    let path = directory.path + "/module"
    try Data(bytes).write(to: URL(filePath: path))
    let module = ModuleSnapshot(
      address: 0x70_0000, size: 0x1000, path: path, buildID: [0xAA, 0xBB, 0xCC, 0xDD])
    let read = try ModuleSymbols(module)
    return addresses.map { read.function(at: Address(0x6F_F000 + $0), in: module)?.name }
  }

  @Test func arm64sMarksOfCodeAndDataAreNoFunctions() throws {
    let symbols = [
      Symbol(name: "$x", info: 0, address: 0x1100), Symbol(name: "$d", info: 0, address: 0x1120),
      Symbol(name: "$x.7", info: 0, address: 0x1130),
      Symbol(name: "first", info: 0x12, address: 0x1100, size: 0x40),
      // An address after the function, where there is no function.
      Symbol(name: "$d", info: 0, address: 0x1180),
      // A label in assembly, even though its name starts with `$`.
      Symbol(name: "$start", info: 0, address: 0x1200),
    ]
    let names = try names(
      symbols, machine: 183, at: [0x1100, 0x1124, 0x113F, 0x1184, 0x1204])
    #expect(names == ["first", "first", "first", nil, "$start"])
  }

  @Test func onX86_64TheyWouldBeNames() throws {
    let symbol = Symbol(name: "$x", info: 0, address: 0x1100)
    #expect(try names([symbol], machine: 62, at: [0x1104]) == ["$x"])
  }

  /// glibc 2.41 has a label after a system call instruction.
  @Test(arguments: [62, 183])
  func aLabelInAFunctionWhoseSizeIsKnownIsNotItsName(_ machine: UInt64) throws {
    var symbols = [
      Symbol(name: "cancel_arch", info: 0x12, address: 0x1100, size: 0x40),
      Symbol(name: "cancel_arch_end", info: 0x10, address: 0x1120),
      Symbol(name: "behind", info: 0x10, address: 0x1140),
    ]
    // More symbols than are compared one by one.
    symbols += (0..<12).map { Symbol(name: "l\($0)", info: 0, address: 0x1121 + UInt64($0)) }
    #expect(
      try names(symbols, machine: machine, at: [0x1110, 0x1120, 0x1138, 0x1144])
        == ["cancel_arch", "cancel_arch", "cancel_arch", "behind"])
  }
}
