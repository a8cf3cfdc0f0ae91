internal import ProcessSnapshot
package import Stackwalk

/// The lines of source code around a location, with a mark under the location's column.
package struct SourceExcerpt: Sendable, Equatable {
  /// The number of lines that are shown before the location's line, and after it.
  private static let context = 2
  /// The maximum number of bytes of a line; a longer line is cut, because generated code can have lines of megabytes.
  private static let maximumWidth = 200

  /// A line of source code, or the line with the mark `^`, which follows the location's line.
  ///
  /// `isMarked` is true for the location's line and for the line with the mark.
  package struct Line: Sendable, Equatable {
    package let text: String
    package let isMarked: Bool
  }

  package let lines: [Line]

  /// Takes the lines around a location from the text of a file; nil if the location has no line, or if the file is
  /// too short to contain that line.
  ///
  /// - Parameter text: the whole file.
  package init?(of location: SourceLocation, in text: [UInt8]) {
    guard let line = location.line, line > 0 else { return nil }
    var lines: [Line] = []
    let first = max(1, line - Self.context)
    let width = String(line.addingReportingOverflow(Self.context).partialValue).count
    let all = text.split(separator: 0x0A, maxSplits: 1 << 20, omittingEmptySubsequences: false)
    guard line <= all.count else { return nil }
    for number in first...min(line + Self.context, all.count) {
      let bytes = all[number - 1]
      let content = Self.shown(bytes.prefix(Self.maximumWidth))
      let isPlace = number == line
      let label = String(number).indented(to: width)
      lines.append(Line(text: "\(label) | \(content)", isMarked: isPlace))
      if isPlace, let column = location.column, column > 0, column <= Self.maximumWidth {
        let before = Self.shown(bytes.prefix(column - 1))
        let gap = String(repeating: " ", count: width + 3 + before.count)
        lines.append(Line(text: gap + "^", isMarked: true))
      }
    }
    self.lines = lines
  }

  /// Replaces each tab with four spaces, so the mark is under the right column.
  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    String(
      decoding: bytes.flatMap { $0 == 0x09 ? [0x20, 0x20, 0x20, 0x20] : [$0] }, as: UTF8.self)
  }
}

extension CrashReport {
  /// The maximum number of source locations for which source code is shown.
  private static var placeCount: Int { 12 }

  /// The source locations of the calls of the program's own code on the crashing thread, innermost first.
  package var ownPlaces: [SourceLocation] {
    let ownCode = verdict.ownCode
    var places: [SourceLocation] = []
    for frame in threads.first(where: \.crashed)?.frames ?? [] where ownCode.standsOut(frame) {
      guard let place = frame.sourceLocation, place.line != nil, !places.contains(place) else {
        continue
      }
      places.append(place)
      if places.count == Self.placeCount { break }
    }
    return places
  }
}
