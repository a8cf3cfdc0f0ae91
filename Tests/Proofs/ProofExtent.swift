internal import Foundation

/// How many of its cases a proof runs.
enum ProofExtent: Sendable {
  /// A few cases, but every program that the proof runs: other people's products change seldom, and take long.
  case sample
  /// The cases that check a change to what the proof covers.
  case whole
  /// More of them, for hours.
  case full

  /// Set in the environment of a process that runs the suites of a sample.
  static let variable = "POSTMORTEM_SAMPLE"

  /// True in a process that runs the suites of a sample.
  static let isSample = ProcessInfo.processInfo.environment[variable] != nil

  /// True in a process that runs the suites of the proof `reports` with `--full`.
  static let isFullOfReports =
    ProcessInfo.processInfo.environment["POSTMORTEM_VERDICTS"] != nil
}
