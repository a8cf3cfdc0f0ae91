// On this system, there are no reports, so these functions have no effect. Only `withContext` runs its operation.

public import IntermediateDump

/// A function that may handle a fault before the fault counts as a crash; on this system, it is never called.
public typealias FirstChanceHandler =
  @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

/// Does nothing.
public func setFirstChanceHandler(_ handler: FirstChanceHandler?) {}

/// Does nothing with the file, because this system has no reports.
///
/// - Returns: false if the path is empty, longer than 1,024 bytes or contains a NUL. On Linux, the result is also false
///   if there are already 16 other attachments.
@discardableResult
public func addAttachment(path: String) -> Bool {
  (1...1024).contains(path.utf8.count) && !path.utf8.contains(0)
}

/// Does nothing.
public func removeAttachment(path: String) {}

/// Does nothing.
public func leaveBreadcrumb(_ text: String) {}

/// Does nothing.
public func leaveBreadcrumb(
  _ text: String, level: BreadcrumbLevel, metadata: [(name: String, value: String)] = []
) {}

/// Does nothing.
public func noteTermination(signal: Int32 = 15) {}

/// Installs nothing, because this system has no crash handler.
///
/// - Returns: false, always.
@discardableResult
public func installAlternateStack() -> Bool { false }

/// Only runs the operation, because this system has no reports that could show the value.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ name: StaticString, _ value: String, operation: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try operation()
}

/// Only runs the operation, because this system has no reports that could show the values.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ values: KeyValuePairs<StaticString, String>, operation: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try operation()
}

/// A context that has no effect, because no report can show its value.
package struct ContextScope {
  package init(_ name: StaticString, _ value: String) {}
  package init(_ values: KeyValuePairs<StaticString, String>) {}
  package init(_ taken: WorkContext) {}
  package func end() {}
}
