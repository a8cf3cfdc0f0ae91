/// A part of a report that the text and the HTML page show in the same way.
///
/// The text is not escaped, because each format escapes it differently.
struct ReportSection: Sendable, Equatable {
  /// One row of a section.
  enum Row: Sendable, Equatable {
    /// A fact with its name; the column of names is as wide as the section's longest name.
    case field(ReportField)
    /// A name and a value, both set by the program.
    case assignment(ReportField)
    /// Text without a name.
    case text(String)
  }

  /// The title of the section, for example "Resources".
  let title: String
  var rows: [Row]
  /// The number of rows at the beginning that the HTML page collapses.
  var foldedCount = 0

  /// The section's anchor for links: the title in lower case, with hyphens, without text in parentheses.
  var anchor: String {
    let words = title.prefix { $0 != "(" }.split(separator: " ")
    return words.joined(separator: "-").lowercased()
  }

  /// Makes a section; nil if there are no rows.
  init?(_ title: String, rows: [Row]) {
    guard !rows.isEmpty else { return nil }
    self.title = title
    self.rows = rows
  }
}

/// A fact, with its name and its value.
struct ReportField: Sendable, Equatable {
  let name: String
  let value: String
}
