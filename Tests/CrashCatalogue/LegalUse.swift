internal import CrashTestSupport
internal import Foundation
internal import PendingDumps
public import Testing

/// A scene of crash-lab's `use`: a program that uses signals, threads and processes as it may.
///
/// It prints the same and
/// ends in the same way with a handler as without, and with a handler that the environment disables.
public struct LegalUse: Sendable, CustomTestStringConvertible {
  /// How a scene ends, and how many dumps it leaves with a handler.
  struct Result: Sendable {
    let end: ChildEnd
    /// A range if the number depends on the moment at which a signal arrives.
    let dumps: ClosedRange<Int>

    static func exits(_ code: Int32, dumps: Int = 0) -> Result {
      Result(end: ChildEnd(status: code << 8), dumps: dumps...dumps)
    }
    static func exits(_ code: Int32, dumps: ClosedRange<Int>) -> Result {
      Result(end: ChildEnd(status: code << 8), dumps: dumps)
    }
    static func ends(by signal: Int32, dumps: Int = 0) -> Result {
      Result(end: ChildEnd(status: signal), dumps: dumps...dumps)
    }
    static func ends(by signal: Int32, dumps: ClosedRange<Int>) -> Result {
      Result(end: ChildEnd(status: signal), dumps: dumps)
    }
  }

  /// What is different with a handler.
  ///
  /// `Docs/Limits.md` accepts one difference: after the start, the signals of faults
  /// cannot be blocked, and with glibc 2.41 or newer, neither can SIGABRT in the workers of libdispatch.
  struct Difference: Sendable {
    /// A part of the output, and what the output has instead with a handler.
    let part: String
    let handled: String
    /// The end with a handler; nil if it is the same.
    var end: ChildEnd?
    /// True if there is no difference with a C library before glibc 2.41.
    var needsNewGlibc = false
  }

  public let name: String
  private let result: Result
  /// The result with glibc 2.41 or newer, whose `abort` no longer unblocks SIGABRT before sending it.
  private let newResult: Result
  let difference: Difference?
  /// True if the scene starts `/bin/sh`.
  public let needsShell: Bool

  init(
    _ name: String, _ result: Result = .exits(0), withNewGlibc newResult: Result? = nil,
    differs difference: Difference? = nil, needsShell: Bool = false
  ) {
    self.name = name
    self.result = result
    self.newResult = newResult ?? result
    self.difference = difference
    self.needsShell = needsShell
  }

  public var testDescription: String { name }
  /// The first word of the name.
  public var family: Substring { name.prefix { $0 != "-" } }

  // MARK: - Running

  /// The differences between the runs; empty if there are none.
  ///
  /// - Parameter root: the root in which they run; nil for this machine's own.
  public func failures(
    _ executable: String, in root: CatalogueRoot? = nil
  ) async throws -> [String] {
    let hasNewGlibc = root != nil || Self.hasNewGlibc
    let command = (root?.enter ?? []) + [executable]
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let alone = try await run(command, ["--no-handler"], in: directory)
    let handled = try await run(command, ["--database", database], in: directory)
    let disabled = try await run(
      command, ["--database", directory.path + "/disabled"], in: directory,
      environment: ["POSTMORTEM_DISABLE": "1"])
    let expected = hasNewGlibc ? newResult : result
    var failures: [String] = []
    func compare(_ run: ChildProcess, _ name: String, _ output: String, _ end: ChildEnd) {
      if run.end != end { failures.append("\(name): \(run.end), not \(end)\n\(run.standardError)") }
      if run.standardOutput != output {
        failures.append("\(name) saw\n\(run.standardOutput)instead of\n\(output)")
      }
    }
    compare(alone, "alone", alone.standardOutput, expected.end)
    compare(disabled, "disabled", alone.standardOutput, alone.end)
    if let difference, hasNewGlibc || !difference.needsNewGlibc {
      if !alone.standardOutput.contains(difference.part) {
        failures.append("alone, there is no \(difference.part) in\n\(alone.standardOutput)")
      }
      compare(
        handled, "with the handler",
        alone.standardOutput.replacing(difference.part, with: difference.handled),
        difference.end ?? alone.end)
    } else {
      compare(handled, "with the handler", alone.standardOutput, alone.end)
    }
    let dumps = try Self.dumps(in: database)
    if !expected.dumps.contains(dumps.count) { failures.append("dumps: \(dumps)") }
    if FileManager.default.fileExists(atPath: directory.path + "/disabled") {
      failures.append("the disabled handler made files")
    }
    return failures
  }

  private static func dumps(in database: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: database + "/" + PendingDumpName.directory)
      .filter { PendingDumpName(fileName: $0)?.role == .finished }
  }

  /// True in a process with glibc 2.41 or newer.
  private static var hasNewGlibc: Bool {
    let numbers = CatalogueRoot.ownLibrary.split { $0 == " " || $0 == "." }.compactMap { Int($0) }
    return !numbers.lexicographicallyPrecedes([2, 41])
  }

  private func run(
    _ command: [String], _ options: [String], in directory: borrowing TemporaryDirectory,
    environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      command[0], command.dropFirst() + ["use", name] + options, in: directory.path,
      environment: environment)
  }
}
