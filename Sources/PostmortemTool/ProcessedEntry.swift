internal import CrashConverter
internal import IntermediateDump

/// What became of a dump, as `process --json` and `watch --json` print it.
struct ProcessedEntry: Codable {
  let reportID: String
  /// The dump's name in the folder of pending dumps.
  let file: String
  /// "complete", "torn", "ended", "failed", "quarantined" or "left".
  let outcome: String
  /// Why, for all but the complete ones.
  let reason: String?
  /// When a dump that is left will be taken at the latest, if that is known.
  let until: String?

  init(_ dump: ProcessedDump) {
    reportID = dump.reportID.description
    file = dump.fileName
    var time: Int64?
    switch dump.outcome {
    case .complete: (outcome, reason) = ("complete", nil)
    case .torn(let text): (outcome, reason) = ("torn", text)
    case .ended(let text): (outcome, reason) = ("ended", text)
    case .failed(let text): (outcome, reason) = ("failed", text)
    case .quarantined(let text): (outcome, reason) = ("quarantined", text)
    case .left(let text, let limit): (outcome, reason, time) = ("left", text, limit)
    }
    until = time.map(TimeText.utc(nanoseconds:))
  }

  /// True if there is no report of it.
  var isFailure: Bool { outcome == "failed" || outcome == "quarantined" }
  /// True if it was not looked into, because somebody else may need it.
  var isLeft: Bool { outcome == "left" }
}
