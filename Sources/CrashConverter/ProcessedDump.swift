public import IntermediateDump

/// What was done with one pending dump.
public struct ProcessedDump: Sendable, Equatable, CustomStringConvertible {
  public enum Outcome: Sendable, Equatable {
    /// The report holds all that the handler wrote.
    case complete
    /// The report holds what was written before the dump broke off; the text says where and why.
    case torn(String)
    /// There was no dump: the report says how the run ended, and so does the text.
    case ended(String)
    /// The dump stays, to be tried again; the text says why.
    case failed(String)
    /// The dump failed for the last time and lies in the database's quarantine folder; the text
    /// says why.
    case quarantined(String)
    /// The dump is left for another call, because somebody else may need it, or is at work on it; the
    /// text says why. `until` is when it will be taken at the latest, in nanoseconds since 1970; nil
    /// where that is for the other one to say.
    case left(String, until: Int64?)
  }

  /// The report's ID, which the dump's name had from the start; another one where something else is
  /// reported under that.
  public let reportID: ReportID
  /// The name under which the dump was found.
  public let fileName: String
  public let outcome: Outcome

  /// True if nothing was done.
  var isLeft: Bool {
    if case .left = outcome { true } else { false }
  }

  /// One line for a log.
  public var description: String {
    let text =
      switch outcome {
      case .complete: "complete"
      case .torn(let reason): "torn, kept what was there: \(reason)"
      case .ended(let verdict): verdict
      case .failed(let reason): "failed, will be tried again: \(reason)"
      case .quarantined(let reason): "failed, moved to quarantine: \(reason)"
      case .left(let reason, let time):
        "left for now\(time.map { ", until \(TimeText.utc(nanoseconds: $0)) at most" } ?? ""): "
          + reason
      }
    let line = "report \(reportID) from \(fileName): \(text)"
    // The reason can hold text of a damaged file.
    return String(
      line.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }
}
