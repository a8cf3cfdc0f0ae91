/// A context without values, because this system has no reports that could show them.
public struct WorkContext: Sendable {
  /// Captures no values.
  public static func capture() -> WorkContext { WorkContext() }

  /// Only runs the operation.
  public func run<Result: ~Copyable, Failure: Error>(
    _ operation: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try operation()
  }
}
