public import CrashHandler
public import Dispatch

/// Watches for hangs on Linux with glibc; here no monitor can be made.
public final class HangMonitor: Sendable {
  /// The options of a monitor.
  public struct Options: Sendable, Equatable {
    /// The time without an answer that counts as a hang; at least 100 milliseconds.
    public var threshold = Duration.seconds(5)
    /// Whether a hang that ended leaves a report too; at most 16 in the process's life.
    public var keepsRecovered = false

    /// Makes options; by default 5 seconds, and no report of a hang that ended.
    public init(threshold: Duration = .seconds(5), keepsRecovered: Bool = false) {
      self.threshold = threshold
      self.keepsRecovered = keepsRecovered
    }
  }

  private init() throws(CrashHandlerError) { throw .unsupportedHere }

  /// Throws: hangs are not watched for here.
  @discardableResult
  public static func mainThread(
    options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Throws: hangs are not watched for here.
  @discardableResult
  public static func queue(
    _ queue: DispatchQueue, name: String? = nil, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Throws: hangs are not watched for here.
  @discardableResult
  public static func actor(
    _ actor: any Actor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Throws: hangs are not watched for here.
  @discardableResult
  public static func executor(
    _ executor: any SerialExecutor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Throws: hangs are not watched for here.
  @discardableResult
  public static func probe(
    name: String, options: Options = Options(), _ probe: @escaping @Sendable () async -> Void
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Throws: hangs are not watched for here.
  public static func heartbeat(
    name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Does nothing.
  public func heartbeat() {}

  /// Does nothing.
  public func pause() {}

  /// Does nothing.
  public func stop() {}
}
