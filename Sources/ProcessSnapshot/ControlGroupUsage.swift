/// What the control group of a process used, and what it may use.
///
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst; version 1 has the same under other names.
public struct ControlGroupUsage: Sendable, Equatable {
  /// As in `/proc/self/cgroup`.
  public var path: String?
  /// In bytes, of all processes of the group.
  public var memoryUsed: UInt64?
  /// In bytes; nil for no limit, or none that is known.
  public var memoryLimit: UInt64?
  /// Threads of all processes of the group.
  public var tasksUsed: UInt64?
  /// Nil for no limit, or none that is known.
  public var tasksLimit: UInt64?

  public init() {}
}
