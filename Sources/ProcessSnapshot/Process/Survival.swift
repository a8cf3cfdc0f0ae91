public import IntermediateDump

/// The process's fate after the dump, and the crashes that it had survived before.
///
/// Nil in a snapshot whose crash ended the process and was its first.
public struct Survival: Sendable, Equatable {
  /// The event that followed the dump.
  public enum Outcome: UInt8, Sendable {
    /// A handler that the program had before ours ran, or one that it had installed later went on;
    /// what came of it is not known.
    case previousHandlerRan = 1
    /// A handler that the program had before ours ran, and the process went on.
    case wentOn = 2
    /// The kernel discarded the signal, which was sent to the first process of a PID namespace, and
    /// the process went on.
    case discarded = 3
    /// A handler that the program had before ours ran, and ended the process by abort(3) or another
    /// signal of its own, which is no crash of its own.
    case endedByHandler = 4
  }

  /// Nil where the process ended: by the signal's default action, after Swift's backtracer had run
  /// if there is a `previousHandler`, or, the first of a PID namespace, by abort(3).
  public var outcome: Outcome?
  /// The address of the handler that ran after the dump.
  public var previousHandler: Address?
  /// Earlier crashes of the same process that have dumps of their own.
  public var survivedCrashes: UInt32?
  /// The report of the last of them.
  public var precedingReport: ReportID?

  public init() {}
}

extension Survival.Outcome: FieldValue {}

extension Survival {
  static let mapFields = MapFields(
    Survival(),
    [
      .optional(.survivalOutcome, \.outcome),
      .optional(.previousHandler, \.previousHandler),
      .optional(.survivedCrashes, \.survivedCrashes),
      .optional(.precedingReport, \.precedingReport),
    ])
}
