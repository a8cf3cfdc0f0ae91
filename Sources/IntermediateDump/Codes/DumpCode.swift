/// A fact that a dump stores as a number: each value with its number and its word.
///
/// These numbers are defined only in the types of this folder. The handler writes `code`, the reader makes a value of
/// the number, and the JSON, its schema and the format's document have `word`. Never renumber a value, and never use
/// a number that a version of these files has had.
///
/// `rawValue` is synthesised without the crash-time annotation. So each type has a `code` in its own file.
public protocol DumpCode: RawRepresentable, CaseIterable, Sendable, Hashable
where RawValue: FixedWidthInteger & Sendable {
  /// The word of the JSON, and of texts.
  var word: String { get }
}

/// The names of the values that have no other words.
extension DumpCode {
  public var word: String { "\(self)" }
}
