import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Compares the Breakpad text of whole programs, address by address, with our own reader and with
/// llvm-symbolizer.
@Suite(
  .serialized,
  .enabled("PyPI's symbolic 8.8.0 and 12.12.0, as .ci/run installs them") {
    try await BreakpadProcessor.isWanted()
  })
struct BreakpadTextTests {
  @Test(arguments: ProofExtent.isSample ? [.release] : BuildConfiguration.dynamic)
  func crashLab(_ configuration: BuildConfiguration) async throws {
    let path = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let directory = try TemporaryDirectory()
    let store = try await BreakpadTests.symbols(of: [path], in: directory.path)
    let text = try #require(store[path])
    let addresses = try Self.addresses(of: path, step: 397)
    let read = try await BreakpadProcessor.calls(
      at: addresses.map(\.place), in: text, withInlines: true, directory: directory.path)
    let names = try BreakpadProcessor.namesWithoutLines(in: text)
    try Self.compare(read, addresses, path, names)
    try await Self.compareWithLLVM(read, addresses, path, names, directory.path)
  }

  /// An address in the file's own numbering, and its offset from the module's start.
  private struct Sample {
    let address: UInt64
    let place: UInt64
  }

  /// Some addresses of each function.
  private static func addresses(of path: String, step: UInt64) throws -> [Sample] {
    let elf = try ELFFile(path: path)
    let firstAddress = elf.firstAddress
    let first = try #require(firstAddress).value
    var samples: [Sample] = []
    for entry in SymbolTable(of: elf).entries where entry.size > 0 && entry.rank >= 4 {
      let start = entry.address.value
      samples += stride(from: start, to: start + min(entry.size, 1 << 14), by: Int(step)).map {
        Sample(address: $0, place: $0 - first)
      }
    }
    return samples
  }

  private static func compare(
    _ read: [[BreakpadProcessor.Call]], _ samples: [Sample], _ path: String, _ names: Set<String>
  ) throws {
    let elf = try ELFFile(path: path)
    let (firstAddress, buildID) = (elf.firstAddress, elf.buildID)
    let first = try #require(firstAddress)
    let module = ModuleSnapshot(address: first, size: .max >> 1, path: path, buildID: buildID)
    let source = SymbolSource()
    var differences: [String] = []
    var (lines, inlined) = (0, 0)
    for (sample, theirs) in zip(samples, read) {
      let frame = StackFrame(
        address: Address(sample.address), isReturnAddress: false, trust: .context)
      let ours = source.frames(at: frame, in: module).map {
        BreakpadProcessor.Call(
          function: $0.symbol?.name ?? "", file: $0.sourceLocation?.file ?? "",
          line: $0.sourceLocation?.line ?? 0)
      }
      lines += ours.filter { $0.line > 0 }.count
      inlined += ours.count - 1
      let expected = ours.comparable(withoutLines: names)
      // For code without a line, the text has the line before it, or no inlined call: only the function is
      // compared.
      let isEqual =
        ours.first?.line == 0
        ? theirs.last?.function == ours.last?.function
        : theirs.comparable(withoutLines: names) == expected
      if !isEqual {
        let place = String(sample.address, radix: 16)
        differences.append("0x\(place):\n  ours \(expected)\n  text \(theirs)")
      }
    }
    print(
      "\(path): \(samples.count) addresses, \(lines) lines, \(inlined) inlined, \(differences.count) different"
    )
    #expect(
      differences.isEmpty, "\(differences.count): \(differences.prefix(20).joined(separator: "\n"))"
    )
    #expect(lines > 1000 && inlined > 20)
  }

  /// Compares files and lines if both sides know them; llvm-symbolizer prints none for code without a line.
  private static func compareWithLLVM(
    _ read: [[BreakpadProcessor.Call]], _ samples: [Sample], _ path: String, _ names: Set<String>,
    _ directory: String
  ) async throws {
    let expected = try await LLVMSymbolizer.frames(
      at: samples.map(\.address), of: path, directory: directory)
    var differences: [String] = []
    var count = 0
    for (theirs, (sample, calls)) in zip(expected, zip(samples, read))
    where theirs.allSatisfy({ $0.line > 0 }) && !names.contains(calls.first?.function ?? "") {
      count += 1
      let places = theirs.map {
        "\($0.file == "/<compiler-generated>" ? "<compiler-generated>" : $0.file):\($0.line)"
      }
      if calls.map({ "\($0.file):\($0.line)" }) != places {
        let place = String(sample.address, radix: 16)
        differences.append("0x\(place):\n  LLVM \(theirs)\n  text \(calls)")
      }
    }
    print("\(path): \(count) addresses against llvm-symbolizer, \(differences.count) different")
    #expect(
      differences.isEmpty, "\(differences.count): \(differences.prefix(20).joined(separator: "\n"))"
    )
    #expect(count > 1000)
  }
}
