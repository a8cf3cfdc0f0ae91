internal import CrashTestSupport

/// The functions that this package defines in front of libc's, compared with libc's own by crash-lab's `functions`.
public enum ReplacedFunctions {
  private enum Run: CaseIterable {
    case alone, handled, disabled
  }

  /// The differences between the functions' results and libc's, without a handler, with one, and with one that the
  /// environment disables; empty if there are none.
  ///
  /// - Parameter root: the root in which they run; nil for this machine's own.
  public static func failures(
    _ executable: String, in root: CatalogueRoot? = nil
  ) async throws -> [String] {
    let command = (root?.enter ?? []) + [executable]
    let libcs = try await output("libc", .alone, command)
    // Each function is called with each class of arguments.
    var failures = libcs.count > 1000 ? [] : ["libc: \(libcs)"]
    for run in Run.allCases {
      let own = try await output("own", run, command)
      for (line, expected) in zip(own, libcs) where line != expected {
        failures.append("\(run): \(line), libc's: \(expected)")
      }
      if own.count != libcs.count { failures.append("\(run): \(own.count) lines") }
    }
    return failures
  }

  private static func output(
    _ whose: String, _ run: Run, _ command: [String]
  ) async throws -> [Substring] {
    let directory = try TemporaryDirectory()
    let handler = run == .alone ? ["--no-handler"] : ["--database", directory.path + "/database"]
    let child = try await ChildProcess.run(
      command[0], command.dropFirst() + ["functions", whose] + handler, in: directory.path,
      environment: run == .disabled ? ["POSTMORTEM_DISABLE": "1"] : [:])
    guard child.end.exitCode == 0 else { return ["\(child)"] }
    return child.standardOutput.split(separator: "\n")
  }
}
