import CrashTestSupport
import Foundation
import Testing

/// Runs `ExtremeDumps`, each time in a separate process.
enum ExtremeDumpRun {
  /// Generates the dumps of some seeds, and reads, shows and writes each of them.
  ///
  /// If a process ends before the last dump, the dump whose seed it recorded last has crashed it; another process
  /// continues after that seed.
  ///
  /// - Parameters:
  ///   - program: the path of `ExtremeDumps`.
  ///   - samples: a directory of real dumps to modify.
  ///   - patience: the number of seconds for all of them.
  /// - Returns: one line for each dump that crashed a process, ten at most.
  static func failures(
    of seeds: Range<UInt64>, program: String, samples: String? = nil,
    patience: Int = ChildProcess.patience
  ) async throws -> [String] {
    let directory = try SharedDirectory(inMemory: true)
    var failures: [String] = []
    var first = seeds.lowerBound
    while first < seeds.upperBound, failures.count < 10 {
      let arguments = [directory.path, "\(first)", "\(seeds.upperBound - first)"]
      let child = try await ChildProcess.run(
        program, arguments + [samples].compactMap { $0 }, in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"], patience: patience)
      if child.end.exitCode == 0 { break }
      let bytes = directory.bytes("seed") ?? []
      let seed = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let words = (child.standardError + child.standardOutput).prefix(300)
      failures.append(
        "seed \(seed) ended it (\(child.end)): \(words); see it with: \(program) --write \(seed)"
          + " FILE \((arguments + [samples].compactMap { $0 }).joined(separator: " "))")
      first = max(seed, first) + 1
    }
    return failures
  }

  /// Reads the inputs that `swift run proofs fuzz` keeps, and former findings.
  ///
  /// - Parameter program: the path of `ExtremeDumps`.
  static func readFuzzersInputs(program: String) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path
    func run(_ arguments: [String]) async throws -> String {
      let child = try await ChildProcess.run(program, arguments, in: path)
      #expect(child.end.exitCode == 0, "\(arguments): \(child.end) \(child.standardOutput)")
      return child.standardOutput
    }
    let kept = BuiltProducts.packageRoot + "/Tests/ExtremeDumps/"
    let findings = try FileManager.default.contentsOfDirectory(atPath: kept + "Findings")
    for line in try await run(["targets"]).split(separator: "\n") {
      let target = String(line.prefix { $0 != " " })
      let inputs = path + "/inputs-" + target
      try FileManager.default.createDirectory(
        atPath: inputs, withIntermediateDirectories: false)
      _ = try await run(["unpack", "\(kept)Corpora/\(target).corpus", inputs])
      // The command also makes a module that some inputs name.
      _ = try await run(["seeds", target, inputs])
      let own = findings.filter { $0.hasPrefix(target + "-") }.map { "\(kept)Findings/\($0)" }
      #expect(try await run(["read", target, inputs] + own).hasSuffix(" read\n"))
    }
  }
}
