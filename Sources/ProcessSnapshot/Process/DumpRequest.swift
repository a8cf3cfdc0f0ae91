public import IntermediateDump

/// Why a dump was taken without a crash, for example on the program's request or because of a hang.
///
/// `ProcessSnapshot.request` is nil for a crash.
public struct DumpRequest: Sendable, Equatable {
  public typealias Kind = RequestKind
  public typealias Target = HangTarget
  public typealias ThreadEvidence = HangThreadEvidence

  /// The kind of request; nil for an unknown kind.
  public var kind: Kind?
  /// The reason that the program gave.
  ///
  /// `errorType` and `errorText` are the type and the text of the error that the program passed.
  public var reason: String?
  public var errorType: String?
  public var errorText: String?
  public var target: Target?
  /// The name of what was watched for hangs: "main", the queue's label, or a name that the program chose.
  public var name: String?
  /// The time in nanoseconds without an answer after which the watched target counts as hung.
  public var threshold: UInt64?
  /// The length of the hang in nanoseconds when the monitor last checked it.
  ///
  /// The monitor checks at least every half second, so the hang or the process ended soon after that check.
  ///
  /// Time in which the whole process was stopped is not included.
  public var hangTime: UInt64?
  /// The CPU time in nanoseconds that the hung thread used during the hang; nil if the thread is not known.
  public var processorTime: UInt64?
  public var threadEvidence: ThreadEvidence?
  /// How the process ended during the hang; nil if it lived on, or if this is not known.
  public var end: RunEnd?

  public init() {}

  /// The reason, otherwise the error's text, otherwise the error's type; nil if the program gave none of them.
  public var headline: String? { reason ?? errorText ?? errorType }

  /// True if the hung thread ran during the hang; false if it waited.
  ///
  /// The result is nil if it is not known whether the hung thread ran. If a thread is known only as the last one that
  /// answered the monitor, it may be idle while another thread hangs, so the result is then nil instead of false.
  ///
  /// A thread counts as running if it used more than a tenth of the time of the hang. The margin is needed because
  /// the kernel counts CPU time in hundredths of a second, and because a thread that only polls is idle.
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
      .map(.runEnd, \.end, RunEnd.mapFields),
    ])
}
