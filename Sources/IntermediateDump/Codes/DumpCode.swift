/// A fact that a dump stores as a number; each value has a number and a word.
///
/// These numbers are defined only in the types of this folder. The handler writes `code`, the reader creates a value
/// from the number, and the JSON, its schema and the format's document use `word`. Never renumber a value, and never
/// use a number that a version of these files has had.
///
/// The synthesized `rawValue` does not have the annotation for crash code (`@_noLocks`). So each type has a property
/// `code` in the type's own file.
public protocol DumpCode: RawRepresentable, CaseIterable, Sendable, Hashable
where RawValue: FixedWidthInteger & Sendable {
  /// The word that stands for the value in JSON and in texts.
  var word: String { get }
}

/// By default, the words are the names of the values.
extension DumpCode {
  public var word: String { "\(self)" }
}
