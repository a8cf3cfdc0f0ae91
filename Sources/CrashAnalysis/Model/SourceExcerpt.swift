internal import ProcessSnapshot
package import Stackwalk

/// The lines of source code around a location.
package struct SourceExcerpt: Sendable, Equatable {
  /// The number of lines that are shown before the location's line, and after it.
  package static let context = 2
  /// The maximum number of bytes of a line; a longer line is cut, because generated code can have lines of megabytes.
  private static let maximumWidth = 200

  /// The number of the first line.
  package let first: Int
  package let lines: [String]
  /// The number of the location's line.
  package let marked: Int
  /// The number of characters before the location's column; nil if the column is not known, or was cut.
  package let charactersBefore: Int?

  /// Takes the lines around a location from the text of a file; nil if the location has no line, or if the file is
  /// too short to contain that line.
  ///
  /// - Parameter text: the whole file.
  package init?(of location: SourceLocation, in text: [UInt8]) {
    guard let line = location.line, line > 0 else { return nil }
    let all = text.split(separator: 0x0A, maxSplits: 1 << 20, omittingEmptySubsequences: false)
    guard line <= all.count else { return nil }
    first = max(1, line - Self.context)
    marked = line
    let last = min(line.addingReportingOverflow(Self.context).partialValue, all.count)
    lines = all[(first - 1)..<last].map { Self.shown($0.prefix(Self.maximumWidth)) }
    charactersBefore = location.column.flatMap { column in
      column > 0 && column <= Self.maximumWidth
        ? Self.shown(all[line - 1].prefix(column - 1)).count : nil
    }
  }

  /// Replaces each tab with four spaces, so the mark is under the right column.
  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    String(
      decoding: bytes.flatMap { $0 == 0x09 ? [0x20, 0x20, 0x20, 0x20] : [$0] }, as: UTF8.self)
  }
}
