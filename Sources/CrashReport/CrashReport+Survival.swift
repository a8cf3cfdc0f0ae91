internal import ProcessSnapshot

extension CrashReport {
  /// What became of the process after this crash, and which crashes it had survived before.
  public struct Survival: Codable, Sendable, Equatable {
    /// "may-have-survived", "survived" or "discarded"; null where the crash ended the process.
    public var outcome: String?
    /// The handler that ran after the dump: where it lies, and in which module's file.
    ///
    /// Null for one that was installed after ours and called it.
    public var previousHandler: HexAddress?
    public var previousHandlerModule: String?
    /// Earlier crashes of the same process that have reports of their own, and the last of these.
    public var survivedCrashes: UInt32?
    public var precedingReport: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(outcome, forKey: .outcome)
      try container.encode(previousHandler, forKey: .previousHandler)
      try container.encode(previousHandlerModule, forKey: .previousHandlerModule)
      try container.encode(survivedCrashes, forKey: .survivedCrashes)
      try container.encode(precedingReport, forKey: .precedingReport)
    }
  }
}

extension CrashReport.Survival {
  init?(_ snapshot: ProcessSnapshot) {
    guard let survival = snapshot.survival else { return nil }
    // The words are the JSON's.
    outcome =
      switch survival.outcome {
      case .previousHandlerRan: "may-have-survived"
      case .wentOn: "survived"
      case .discarded: "discarded"
      case nil: nil
      }
    previousHandler = survival.previousHandler?.hex
    previousHandlerModule = survival.previousHandler.flatMap(snapshot.module(containing:))?.name
    survivedCrashes = survival.survivedCrashes
    precedingReport = survival.precedingReport.map(String.init(describing:))
  }

  /// What followed the dump, in words; nil where the crash ended the process.
  var outcomeText: String? {
    // Of Swift's own handler everybody knows what it is for.
    if outcome == nil || outcome == "may-have-survived",
      previousHandlerModule == "libswiftCore.so"
    {
      return "Swift's backtracer ran after the dump"
    }
    // One that was installed after ours, and called it.
    if outcome == "may-have-survived", previousHandler == nil {
      return "may have survived: a handler installed later had called ours, and went on"
    }
    let handler = "previous handler" + (previousHandlerModule.map { " in \($0)" } ?? "")
    return switch outcome {
    case nil where previousHandler != nil: "\(handler) ran after the dump; process ended"
    case "may-have-survived": "may have survived: a \(handler) ran after the dump"
    case "survived": "\(handler) took it; process went on"
    case "discarded": "the kernel discarded the signal; process went on"
    default: nil
    }
  }

  /// What came before; nil for the first crash.
  var earlierText: String? {
    guard let count = survivedCrashes, count > 0 else { return nil }
    let last = precedingReport.map { ", the last report \($0)" } ?? ""
    return "\(count) crash\(count == 1 ? "" : "es") of this process\(last)"
  }
}
