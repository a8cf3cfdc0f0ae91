// The calls by which a program tells its reports something: there are no reports here.

public import IntermediateDump

/// A function that may handle a fault in place of a crash, which is never asked here.
public typealias FirstChanceHandler =
  @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

/// Does nothing.
public func setFirstChanceHandler(_ handler: FirstChanceHandler?) {}

/// Keeps nothing.
///
/// - Returns: whether the path is one that Linux takes.
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

/// Does nothing.
///
/// - Returns: false.
@discardableResult
public func installAlternateStack() -> Bool { false }

/// Runs the operation; no report shows the value.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ name: StaticString, _ value: String, operation: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try operation()
}

/// A context without readers.
package struct ContextScope {
  package init(_ name: StaticString, _ value: String) {}
  package func end() {}
}
