internal import CSignalSafe

/// A copy of the `withContext` values that are in effect where `capture` is called, for use in other code.
///
/// A callback of an event loop, a closure passed to Dispatch and a `Task.detached` do not inherit the context. Use
/// this type to pass the context to them:
///
/// ```swift
/// let context = WorkContext.capture()
/// future.whenComplete { result in
///   context.run { respond(with: result) }
/// }
/// ```
///
/// A captured context is a copy: it can be used on any thread, any number of times, and after the end of the
/// `withContext` call.
public struct WorkContext: Sendable {
  let record: ContextStorage?

  /// Copies the caller's context.
  ///
  /// - Returns: all values that are in effect; an empty context outside of `withContext`.
  public static func capture() -> WorkContext {
    unsafe WorkContext(record: pm_work_value().map { unsafe $0.load(as: ContextStorage.self) })
  }

  /// Runs an operation in this context instead of the caller's.
  ///
  /// While the operation runs, reports show the values as those of its thread or task, and breadcrumbs belong to the
  /// same unit of work as in the original context. In an empty context, the operation runs without values.
  ///
  /// - Parameter operation: the closure to run; it runs once, on the calling thread.
  /// - Returns: the operation's result.
  /// - Throws: the operation's error.
  public func run<Result: ~Copyable, Failure: Error>(
    _ operation: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let scope = ContextScope(self)
    defer { scope.end() }
    return try operation()
  }
}
