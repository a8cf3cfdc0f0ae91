public import IntermediateDump
public import PendingDumps

// No handler can be made here: these calls are compiled, and never run.
extension Handler {
  /// Nil: a handler cannot be started here.
  public static var current: Handler? { nil }

  /// Throws: no dump can be taken here.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    reason: String? = nil, error: (any Error)? = nil, annotations: [String: String] = [:],
    stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    throw .unsupportedHere
  }

  /// Throws: no dump can be taken here.
  @discardableResult @inline(never)
  public func dumpWithoutCrash(
    to path: String, reason: String? = nil, error: (any Error)? = nil,
    annotations: [String: String] = [:], stopsThreads: Bool = false
  ) throws(CrashHandlerError) -> ReportID {
    throw .unsupportedHere
  }

  /// One finding: there is no handler.
  public var status: HandlerStatus {
    HandlerStatus(findings: [
      HandlerStatus.Finding(.notStarted, "crash handling is not supported here")
    ])
  }

  /// Puts nothing back.
  @discardableResult
  public func reinstall() -> [Int32] { [] }

  /// Zeros.
  public var counters: OutcomeCounters { OutcomeCounters() }
}
