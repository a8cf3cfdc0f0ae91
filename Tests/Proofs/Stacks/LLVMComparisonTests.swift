import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Compares functions, files, lines, columns and inlined calls with llvm-symbolizer.
@Suite struct LLVMComparisonTests {
  @Test func crashLabAsTested() async throws {
    try await compare(await BuiltProducts.shared.executable("crash-lab", .asTested), step: 397)
  }

  @Test func crashLabOptimised() async throws {
    try await compare(await BuiltProducts.shared.executable("crash-lab", .release), step: 97)
  }

  /// Samples addresses over all functions and compares every answer.
  private func compare(_ path: String, step: UInt64) async throws {
    let directory = try TemporaryDirectory()
    let elf = try ELFFile(path: path)
    let table = SymbolTable(of: elf)
    var addresses: [UInt64] = []
    for entry in table.entries where entry.size > 0 && entry.rank >= 4 {
      let start = entry.address.value
      addresses += stride(from: start, to: start + min(entry.size, 1 << 14), by: Int(step))
    }
    let buildID = elf.buildID
    let firstAddress = elf.firstAddress
    let first = try #require(firstAddress)
    let module = ModuleSnapshot(address: first, size: .max >> 1, path: path, buildID: buildID)
    let symbols = try ModuleSymbols(module)
    let expected = try await LLVMSymbolizer.frames(
      at: addresses, of: path, directory: directory.path)
    var differences: [String] = []
    var inlined = 0
    var lines = 0
    for (address, theirs) in zip(addresses, expected) {
      let ours = symbols.frames(at: Address(address), in: module, approximating: false).map {
        frame in
        LLVMSymbolizer.Frame(
          function: frame.name ?? "??", file: frame.location?.file ?? "??",
          line: frame.location?.line ?? 0, column: frame.location?.column ?? 0)
      }
      var theirs = theirs
      // Without debug information, llvm-symbolizer takes a file from the symbol table, which has no lines.
      if ours.count == 1, ours[0].file == "??", theirs[0].line == 0 { theirs[0].file = "??" }
      inlined += ours.count - 1
      lines += ours.filter { $0.line > 0 }.count
      if ours != theirs {
        differences.append("0x\(String(address, radix: 16)):\n  ours   \(ours)\n  theirs \(theirs)")
      }
    }
    print(
      "\(path): \(addresses.count) addresses, \(lines) lines, \(inlined) inlined, \(differences.count) different"
    )
    #expect(
      differences.isEmpty, "\(differences.count): \(differences.prefix(20).joined(separator: "\n"))"
    )
    #expect(lines > 1000)
  }
}
