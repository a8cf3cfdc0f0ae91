public import IntermediateDump

/// The end of a run that left no dump of it.
///
/// Nil in the snapshot of a process that was captured.
public struct RunEnd: Sendable, Equatable {
  public enum Kind: UInt8, Sendable {
    /// The kernel killed it for want of memory.
    case outOfMemory = 1
    /// A signal had asked it to end, and it did not in time.
    case stopTimeout = 2
    /// A signal ended it, and it is known which.
    case killed = 3
    /// The machine was started again, or lost power.
    case rebooted = 4
    /// It became another program by exec.
    case replaced = 5
    /// It hung, and was then killed.
    case hungThenKilled = 6
    /// It did not exit; nothing tells more.
    case unexplained = 7
  }

  public enum Certainty: UInt8, Sendable, Comparable {
    /// The evidence allows one explanation among others.
    case possible = 1
    /// The evidence fits nothing else well.
    case likely = 2
    /// The kernel says so.
    case certain = 3

    public static func < (left: Certainty, right: Certainty) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  /// Nil for one that this version does not know.
  public var kind: Kind?
  public var certainty: Certainty?
  /// The signal that ended it, or asked it to end.
  public var signal: Int32?
  /// The evidence of the verdict, one sentence each.
  public var evidence: [String] = []
  /// The report of the hang that lasted at the end.
  public var hangReport: ReportID?

  public init() {}
}

extension RunEnd.Kind: FieldValue {}

extension RunEnd.Certainty: FieldValue {}

extension RunEnd {
  static let mapFields = MapFields(
    RunEnd(),
    [
      .optional(.runEndKind, \.kind),
      .optional(.runEndCertainty, \.certainty),
      .optional(.signalNumber, \.signal),
      .lines(.runEndEvidence, \.evidence),
      .optional(.evidenceHangReport, \.hangReport),
    ])
}
