public import CrashHandler

/// Runs an asynchronous operation with a named value that reports show.
///
/// The operation runs in the caller's isolation. This function is separate from the synchronous `withContext`, so
/// that a program that links only `CrashHandler` does not need the runtime of Swift concurrency.
///
/// - Parameters:
///   - name: the name of the value, at most 64 bytes. A value with a longer name is left out and counted.
///   - value: the text of the value, which is stored as UTF-8.
///   - operation: runs once, in the caller's isolation.
/// - Returns: the operation's result.
/// - Throws: the operation's error.
///
/// Source: Swift Evolution SE-0311, task-local values.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ name: StaticString, _ value: String, operation: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  let scope = ContextScope(name, value)
  defer { scope.end() }
  return try await operation()
}

/// Runs an asynchronous operation with several named values that reports show.
///
/// - Parameters:
///   - values: names, at most 64 bytes each, and texts; of two values with the same name, the last one is used.
///   - operation: runs once, in the caller's isolation.
/// - Returns: the operation's result.
/// - Throws: the operation's error.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ values: KeyValuePairs<StaticString, String>, operation: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  let scope = ContextScope(values)
  defer { scope.end() }
  return try await operation()
}

extension WorkContext {
  /// Runs an asynchronous operation in this context instead of the caller's.
  ///
  /// - Parameter operation: runs once, in the caller's isolation.
  /// - Returns: the operation's result.
  /// - Throws: the operation's error.
  public func run<Result: ~Copyable, Failure: Error>(
    _ operation: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = ContextScope(self)
    defer { scope.end() }
    return try await operation()
  }
}
