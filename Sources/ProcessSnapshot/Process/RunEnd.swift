public import IntermediateDump

/// How a run of the program ended, if the run left no dump.
///
/// `ProcessSnapshot.end` is nil if the snapshot was made from a dump of the process.
public struct RunEnd: Sendable, Equatable {
  public typealias Kind = RunEndKind
  public typealias Certainty = RunEndCertainty

  /// The way in which the run ended; nil for a kind that this version does not know.
  public var kind: Kind?
  public var certainty: Certainty?
  /// The signal that ended the process or requested its end.
  public var signal: Int32?
  /// The evidence for `kind` and `certainty`, one sentence for each fact.
  public var evidence: [String] = []
  /// The ID of the report of a hang that had not ended when the run ended; nil if there was no such hang.
  public var hangReport: ReportID?

  public init() {}
}

extension RunEnd {
  package static let mapFields = MapFields(
    RunEnd(),
    [
      .optional(.runEndKind, \.kind),
      .optional(.runEndCertainty, \.certainty),
      .optional(.signalNumber, \.signal),
      .lines(.runEndEvidence, \.evidence),
      .optional(.evidenceHangReport, \.hangReport),
    ])
}
