public import IntermediateDump
public import PendingDumps

// On this system, no handler can be created, so all members except `current` are compiled but never used.
extension Handler {
  /// Always nil, because no handler can be started on this system.
  public static var current: Handler? { nil }

  /// Always throws, because no dump can be written on this system.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    reason: String? = nil, error: (any Error)? = nil, annotations: [String: String] = [:],
    stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    throw .unsupportedHere
  }

  /// Always throws, because no dump can be written on this system.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    to path: String, reason: String? = nil, error: (any Error)? = nil,
    annotations: [String: String] = [:], stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    throw .unsupportedHere
  }

  /// The status, whose only finding says that crash handling is not supported.
  public var status: HandlerStatus {
    HandlerStatus(findings: [
      HandlerStatus.Finding(.notStarted, "crash handling is not supported here")
    ])
  }

  /// Does nothing, because this system has no crash handler.
  @discardableResult
  public func reinstall() -> [Int32] { [] }

  /// The counters, which are all zero on this system.
  public var counters: OutcomeCounters { OutcomeCounters() }
}
