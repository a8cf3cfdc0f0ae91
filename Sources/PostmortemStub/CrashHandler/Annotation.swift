/// A named value; setting it does nothing, because this system has no reports.
@safe
public struct Annotation<Value: Sendable>: Sendable {
  /// Always false, because annotations are not stored on this system.
  public var isKept: Bool { false }

  /// Does nothing.
  public func clear() {}
}

extension Annotation where Value == String {
  /// Creates an annotation that stores no value.
  public init(_ name: StaticString, capacity: Int = 255) {}

  public func set(_ value: String) {}
}

extension Annotation where Value == Int {
  /// Creates an annotation that stores no value.
  public init(_ name: StaticString) {}

  public func set(_ value: Int) {}
}

extension Annotation where Value == UInt {
  /// Creates an annotation that stores no value.
  public init(_ name: StaticString) {}

  public func set(_ value: UInt) {}
}

extension Annotation where Value == Double {
  /// Creates an annotation that stores no value.
  public init(_ name: StaticString) {}

  public func set(_ value: Double) {}
}

extension Annotation where Value == Bool {
  /// Creates an annotation that stores no value.
  public init(_ name: StaticString) {}

  public func set(_ value: Bool) {}
}
