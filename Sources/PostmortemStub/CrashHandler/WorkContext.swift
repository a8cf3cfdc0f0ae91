/// A context without values, because this system has no reports that could show them.
public struct WorkContext: Sendable {
  /// Captures no values.
  public static func capture() -> WorkContext { WorkContext() }

  /// Runs the operation, and does nothing else.
  public func run<Result: ~Copyable, Failure: Error>(
    _ operation: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try operation()
  }
}
