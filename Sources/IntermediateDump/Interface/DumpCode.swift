/// A set of values that a dump stores as numbers; each value also has a readable word.
///
/// Only the types in `Codes` and `BreadcrumbLevel` define these numbers. The handler writes `code`, the reader creates a value from the
/// number, and the JSON, its schema and the format's document use `word`. Never renumber a value, and never reuse a
/// number that a released version of these files has used.
///
/// The synthesized `rawValue` does not have the annotation for crash code (`@_noLocks`). So each type that crash code
/// writes defines a property `code`, in the same file as the type.
public protocol DumpCode: RawRepresentable, CaseIterable, Sendable, Hashable
where RawValue: FixedWidthInteger & Sendable {
  /// The word that stands for the value in JSON and in texts.
  var word: String { get }
}

/// By default, a value's word is the name of its enum case.
extension DumpCode {
  public var word: String { "\(self)" }
}
