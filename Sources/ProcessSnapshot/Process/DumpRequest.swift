public import IntermediateDump

/// The reason of a dump without a crash.
///
/// Nil in the snapshot of a crash.
public struct DumpRequest: Sendable, Equatable {
  public typealias Kind = RequestKind
  public typealias Target = HangTarget
  public typealias ThreadEvidence = HangThreadEvidence

  /// The kind; nil for one that this version does not know.
  public var kind: Kind?
  /// The program's reason, and the error that it passed: its type, and the error as text.
  public var reason: String?
  public var errorType: String?
  public var errorText: String?
  public var target: Target?
  /// The program's name for the watched part.
  public var name: String?
  /// The time in nanoseconds after which it counts as hung.
  public var threshold: UInt64?
  /// The length of the hang in nanoseconds when it was last checked; the process ended within a second after that.
  ///
  /// Times in which the whole process was stopped are not included.
  public var hangTime: UInt64?
  /// The CPU time in nanoseconds that the thread has used since then; nil if the thread is not known.
  public var processorTime: UInt64?
  public var threadEvidence: ThreadEvidence?

  public init() {}

  /// The reason, otherwise the error; nil if the program gave neither.
  public var headline: String? { reason ?? errorText ?? errorType }

  /// True for a thread that ran, false for one that waited.
  ///
  /// Nil if that is not known: a thread that only answered last may wait for other work while another thread hangs.
  ///
  /// The limit is a tenth of the time, because the kernel counts in hundredths of a second and a thread that polls is
  /// idle.
  public var isBusy: Bool? {
    guard let hangTime, let processorTime else { return nil }
    if processorTime > hangTime / 10 { return true }
    return threadEvidence == .known ? false : nil
  }
}

extension DumpRequest {
  package static let mapFields = MapFields(
    DumpRequest(),
    [
      .optional(.requestKind, \.kind),
      .optional(.requestReason, \.reason),
      .optional(.requestErrorType, \.errorType),
      .optional(.requestErrorText, \.errorText),
      .optional(.hangTarget, \.target),
      .optional(.hangName, \.name),
      .optional(.hangThreshold, \.threshold),
      .optional(.hangTime, \.hangTime),
      .optional(.hangProcessorTime, \.processorTime),
      .optional(.hangThreadEvidence, \.threadEvidence),
    ])
}
