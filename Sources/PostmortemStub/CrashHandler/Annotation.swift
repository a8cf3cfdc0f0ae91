/// A named value; setting it does nothing, because this system has no reports.
@safe
public struct Annotation<Value: Sendable>: Sendable {
  /// Always false, because nothing is kept on this system.
  public var isKept: Bool { false }

  /// Does nothing.
  public func clear() {}
}

extension Annotation where Value == String {
  /// Makes an annotation that keeps nothing.
  public init(_ name: StaticString, capacity: Int = 255) {}

  public func set(_ value: String) {}
}

extension Annotation where Value == Int {
  /// Makes an annotation that keeps nothing.
  public init(_ name: StaticString) {}

  public func set(_ value: Int) {}
}

extension Annotation where Value == UInt {
  /// Makes an annotation that keeps nothing.
  public init(_ name: StaticString) {}

  public func set(_ value: UInt) {}
}

extension Annotation where Value == Double {
  /// Makes an annotation that keeps nothing.
  public init(_ name: StaticString) {}

  public func set(_ value: Double) {}
}

extension Annotation where Value == Bool {
  /// Makes an annotation that keeps nothing.
  public init(_ name: StaticString) {}

  public func set(_ value: Bool) {}
}
