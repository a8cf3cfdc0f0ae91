public import IntermediateDump

/// What happened to the process after the dump, and the crashes that it survived before.
///
/// Nil in a snapshot whose crash ended the process and was its first.
public struct Survival: Sendable, Equatable {
  public typealias Outcome = SurvivalOutcome

  /// What followed the dump; nil if the process ended by the signal's default action.
  ///
  /// It is also nil if this happened after Swift's backtracer (then there is a `previousHandler`), or by abort(3) as
  /// the first process of a PID namespace.
  public var outcome: Outcome?
  /// The address of the handler that ran after the dump.
  public var previousHandler: Address?
  /// True if that is Swift's backtracer; also false in dumps of versions that did not recognize it.
  public var previousHandlerIsBacktracer = false
  /// Earlier crashes of the same process that have dumps of their own.
  public var survivedCrashes: UInt32?
  /// The report of the last earlier crash.
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
