import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import Stackwalk
import Testing

/// No name of a function in the toolchain's own libraries, some 70,000, makes a signature that changes from build
/// to build.
@Suite struct RealNameTests {
  /// Finds parts that change from build to build: offsets, numbers of closures and awaits, specializations, and
  /// unbalanced brackets.
  private static func fault(in name: String) -> String? {
    let words = [
      "+0x", " #", "specialization <", "suspend resume", "await resume", "partial function for",
      "with unmangled suffix", "Arg[", "Closure Propagated", "<Swift.",
    ]
    if let word = words.first(where: name.contains) { return word }
    let isPart = name.firstRange(of: #/T[YQ][0-9]+_$/#) != nil
    return isPart ? "the part of an asynchronous function" : nil
  }

  /// The libraries in the toolchain's directory from which this process has loaded some.
  private static func libraries() throws -> [String] {
    let maps = try KernelFile.text("/proc/self/maps")
    let line = try #require(maps.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") })
    let path = try #require(line.firstIndex(of: "/").map { line[$0...] })
    let directory = String(path.dropLast("/libswiftCore.so".count))
    return try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0.hasSuffix(".so") }.sorted().map { "\(directory)/\($0)" }
  }

  @Test func holdNothingThatChangesWithABuild() throws {
    var count = 0
    var faults: [String] = []
    for path in try Self.libraries() {
      let elf = try ELFFile(path: path)
      let table = SymbolTable(of: elf)
      for entry in table.entries {
        guard let symbol = table.name(of: entry, in: elf),
          let function = Demangler.demangle(symbol)
        else { continue }
        count += 1
        guard let name = Signature.name(of: function) else { continue }
        if name.isEmpty { faults.append("none of \(function)") }
        if let fault = Self.fault(in: name) { faults.append("\(fault): \(name) of \(function)") }
      }
    }
    #expect(faults.isEmpty, "\(faults.count): \(faults.prefix(5).joined(separator: "\n"))")
    #expect(count > 50_000)
  }
}
