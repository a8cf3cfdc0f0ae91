public import IntermediateDump

/// What happened to the process after the dump, and the crashes that it survived before.
///
/// `ProcessSnapshot.survival` is nil if the process had not crashed before, and ended with this crash without running
/// Swift's backtracer.
public struct Survival: Sendable, Equatable {
  public typealias Outcome = SurvivalOutcome

  /// What followed the dump; nil if the signal's default action ended the process.
  ///
  /// If Swift's backtracer ran before the default action, `outcome` is nil too, but `previousHandler` is not nil.
  /// `outcome` is also nil if abort(3) ended the first process of a PID namespace.
  public var outcome: Outcome?
  /// The address of the previously installed handler that ran after the dump; nil if none ran.
  public var previousHandler: Address?
  /// True if `previousHandler` is Swift's backtracer.
  public var previousHandlerIsBacktracer = false
  /// The number of earlier crashes that the same process survived, or may have survived, and that have separate dumps.
  public var survivedCrashes: UInt32?
  /// The report ID of the most recent earlier crash that has a separate dump.
  public var precedingReport: ReportID?

  public init() {}
}

extension Survival {
  package static let mapFields = MapFields(
    Survival(),
    [
      .optional(.survivalOutcome, \.outcome),
      .optional(.previousHandler, \.previousHandler),
      .flag(.previousHandlerIsBacktracer, \.previousHandlerIsBacktracer),
      .optional(.survivedCrashes, \.survivedCrashes),
      .optional(.precedingReport, \.precedingReport),
    ])
}
