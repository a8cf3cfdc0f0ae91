/// A fact that a dump stores as a number: each value with its number and its word.
///
/// These numbers are defined only in the types of this folder. The handler writes `code`, the reader creates a value
/// from the number, and the JSON, its schema and the format's document use `word`. Never renumber a value, and never
/// use a number that a version of these files has had.
///
/// `rawValue` is synthesized without the crash-time annotation. So each type has a `code` in its own file.
public protocol DumpCode: RawRepresentable, CaseIterable, Sendable, Hashable
where RawValue: FixedWidthInteger & Sendable {
  /// The word of the JSON, and of texts.
  var word: String { get }
}

/// By default, the words are the names of the values.
extension DumpCode {
  public var word: String { "\(self)" }
}
