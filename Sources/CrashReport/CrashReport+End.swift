package import ProcessSnapshot

extension CrashReport {
  /// How a run ended that left no dump of its end.
  public struct End: Codable, Sendable, Equatable {
    /// "out-of-memory", "stop-timeout", "killed", "rebooted", "replaced", "hung-then-killed" or
    /// "unexplained".
    public var kind: String?
    /// "certain", "likely" or "possible".
    public var certainty: String?
    /// The signal that ended it, or asked it to end.
    public var signal: Int32?
    /// What the verdict rests on, one sentence each.
    public var evidence: [String]
    /// The report of the hang that lasted at the end.
    public var hangReport: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(kind, forKey: .kind)
      try container.encode(certainty, forKey: .certainty)
      try container.encode(signal, forKey: .signal)
      try container.encode(evidence, forKey: .evidence)
      try container.encode(hangReport, forKey: .hangReport)
    }
  }
}

extension CrashReport.End {
  package init?(_ end: RunEnd?) {
    guard let end else { return nil }
    // The words are the JSON's.
    kind =
      switch end.kind {
      case .outOfMemory: "out-of-memory"
      case .stopTimeout: "stop-timeout"
      case .killed: "killed"
      case .rebooted: "rebooted"
      case .replaced: "replaced"
      case .hungThenKilled: "hung-then-killed"
      case .unexplained: "unexplained"
      case nil: nil
      }
    certainty =
      switch end.certainty {
      case .certain: "certain"
      case .likely: "likely"
      case .possible: "possible"
      case nil: nil
      }
    signal = end.signal
    evidence = end.evidence
    hangReport = end.hangReport.map(String.init(describing:))
  }

  /// The verdict in one or two sentences.
  package var text: String {
    let name = signal.map { SignalNames.name($0) ?? "signal \($0)" }
    let sentence =
      switch kind {
      case "out-of-memory": "Killed by the kernel because memory had run out."
      case "stop-timeout":
        "Asked to stop by \(name ?? "a signal"), and killed because it did not in time."
      case "killed": "Killed by \(name ?? "a signal")."
      case "rebooted": "Ended because the machine was started again or lost power."
      case "replaced": "Replaced by another program (exec)."
      case "hung-then-killed": "Hung, and was then killed."
      default:
        "Killed or ended by a signal, unknown which, or replaced by a program that has ended too."
      }
    let doubt =
      switch certainty {
      case "likely": " This is likely, not certain."
      case "possible": " This is possible; the evidence allows other explanations."
      default: ""
      }
    return sentence + " It left no dump of its end." + doubt
  }
}
