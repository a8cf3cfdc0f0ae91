public import CrashHandler
public import Dispatch

/// Detects hangs on Linux with glibc.
///
/// This type is for builds for other systems, on which no monitor can be created.
public final class HangMonitor: Sendable {
  private init() throws(CrashHandlerError) { throw .unsupportedHere }

  /// Always throws, because hangs are not detected on this system.
  @discardableResult
  public static func mainThread(
    options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Always throws, because hangs are not detected on this system.
  @discardableResult
  public static func queue(
    _ queue: DispatchQueue, name: String? = nil, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Always throws, because hangs are not detected on this system.
  @discardableResult
  public static func actor(
    _ actor: any Actor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Always throws, because hangs are not detected on this system.
  @discardableResult
  public static func executor(
    _ executor: any SerialExecutor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Always throws, because hangs are not detected on this system.
  @discardableResult
  public static func probe(
    name: String, options: Options = Options(), _ probe: @escaping @Sendable () async -> Void
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor()
  }

  /// Always throws, because hangs are not detected on this system.
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
