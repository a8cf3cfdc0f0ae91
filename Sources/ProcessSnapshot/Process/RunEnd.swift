public import IntermediateDump

/// How a run of the program ended, if the run left no dump of its end.
///
/// `ProcessSnapshot.end` is nil if the snapshot was made from a dump of the process; `DumpRequest.end` tells how a
/// process ended that hung.
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

  public init() {}

  /// The word for `kind` in reports.
  package var word: String { kind?.word ?? "unknown" }

  /// The beginning of the sentence in `evidence` that names the files that the process had locked.
  package static let lockSentence = "It held locks on "

  /// Removes the names of files.
  mutating func sanitize() { evidence.removeAll { $0.hasPrefix(Self.lockSentence) } }
}

extension RunEnd {
  package static let mapFields = MapFields(
    RunEnd(),
    [
      .optional(.runEndKind, \.kind),
      .optional(.runEndCertainty, \.certainty),
      .optional(.signalNumber, \.signal),
      .lines(.runEndEvidence, \.evidence),
    ])
}
