public import IntermediateDump

/// The end of a run that left no dump.
///
/// Nil in the snapshot of a process that was captured.
public struct RunEnd: Sendable, Equatable {
  public typealias Kind = RunEndKind
  public typealias Certainty = RunEndCertainty

  /// The kind of end; nil for a kind that this version does not know.
  public var kind: Kind?
  public var certainty: Certainty?
  /// The signal that ended it, or asked it to end.
  public var signal: Int32?
  /// The evidence for the verdict, in one sentence for each fact.
  public var evidence: [String] = []
  /// The report of the hang that was still going on at the end.
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
