internal import CrashTestSupport
internal import Foundation
internal import Testing

/// Runs libFuzzer on one target of `ExtremeDumps`, starting with the inputs that are kept.
struct FuzzRun {
  /// The inputs and counts that are kept in the repository.
  static let corpora = BuiltProducts.packageRoot + "/Tests/ExtremeDumps/Corpora"
  /// Inputs that were once findings.
  static let findings = BuiltProducts.packageRoot + "/Tests/ExtremeDumps/Findings"

  struct Target: Sendable, CustomTestStringConvertible {
    let name: String
    let maximumSize: Int
    var testDescription: String { name }
  }

  let target: Target
  private let program: String
  private let fuzzer: String
  private let directory: SharedDirectory

  /// The number of inputs that were read, and the input that ended the process.
  struct Outcome {
    var executions: Int
    var finding: [UInt8]?
    var log: String
  }

  static func targets() async throws -> [Target] {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    let child = try await ChildProcess.run(program, ["targets"], in: "/")
    return child.standardOutput.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 2, let size = Int(words[1]) else { return nil }
      return Target(name: String(words[0]), maximumSize: size)
    }
  }

  /// Copies the kept inputs into a directory, and generates the others.
  ///
  /// - Parameters:
  ///   - samples: a directory of real dumps and ELF files.
  ///   - isOptimized: see `BuiltProducts.fuzzer`.
  init(_ target: Target, samples: String? = nil, isOptimized: Bool) async throws {
    self.target = target
    program = try BuiltProducts.besideTests("ExtremeDumps")
    fuzzer = try await BuiltProducts.shared.fuzzer(isOptimized: isOptimized)
    directory = try SharedDirectory(inMemory: true)
    for name in ["corpus", "found", "merged"] {
      try FileManager.default.createDirectory(
        atPath: directory.path + "/" + name, withIntermediateDirectories: false)
    }
    try await tell(["seeds", target.name, "corpus"] + (samples.map { [$0] } ?? []))
    let kept = "\(Self.corpora)/\(target.name).corpus"
    if FileManager.default.fileExists(atPath: kept) { try await tell(["unpack", kept, "corpus"]) }
  }

  /// Lets libFuzzer generate inputs for a number of seconds.
  func run(seconds: Int) async throws -> Outcome {
    let child = try await fuzz(
      ["-max_total_time=\(seconds)", "-print_final_stats=1", "corpus"], patience: seconds + 600)
    let mark = "stat::number_of_executed_units:"
    let count = child.standardError.split(separator: "\n").last { $0.hasPrefix(mark) }
      .flatMap { Int($0.dropFirst(mark.count).trimmingCharacters(in: .whitespaces)) }
    let name = directory.names("found").first
    return Outcome(
      executions: count ?? 0, finding: name.flatMap { directory.bytes("found/" + $0) },
      log: child.end.exitCode == 0 ? "" : String(child.standardError.suffix(6000)))
  }

  /// Keeps the smallest set of inputs with the same coverage as all of them.
  func keep() async throws {
    let child = try await fuzz(["-merge=1", "merged", "corpus"], patience: 3000)
    guard child.end.exitCode == 0 else {
      throw Failure(description: "merging failed: \(child.standardError.suffix(2000))")
    }
    try await tell(["pack", "merged", "\(Self.corpora)/\(target.name).corpus"])
  }

  private func fuzz(_ arguments: [String], patience: Int) async throws -> ChildProcess {
    try await ChildProcess.run(
      fuzzer,
      [
        "-max_len=\(target.maximumSize)", "-timeout=20", "-rss_limit_mb=3072",
        "-malloc_limit_mb=300", "-artifact_prefix=found/",
      ] + arguments, in: directory.path,
      environment: [
        "POSTMORTEM_FUZZ_TARGET": target.name,
        // Recording the stack of each allocation would take a fifth of the time; a finding is run again with it.
        "ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=0",
      ], patience: patience)
  }

  private func tell(_ arguments: [String]) async throws {
    let child = try await ChildProcess.run(program, arguments, in: directory.path)
    guard child.end.exitCode == 0 else {
      throw Failure(description: "\(arguments): \(child.standardOutput)\(child.standardError)")
    }
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }
}
