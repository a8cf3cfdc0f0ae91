/// A part of a report that text and HTML show alike.
///
/// Its words are raw: each output escapes them in its own way.
struct ReportSection: Sendable, Equatable {
  /// A line of it.
  enum Row: Sendable, Equatable {
    /// A fact under its name; the names of a section are as wide as the longest.
    case field(ReportField)
    /// What the program said under a name of its own.
    case assignment(name: String, value: String)
    /// Words on a line of their own.
    case text(String)
  }

  /// Such as "Resources".
  let title: String
  var rows: [Row]

  /// Nil where there is nothing to show.
  init?(_ title: String, rows: [Row]) {
    guard !rows.isEmpty else { return nil }
    self.title = title
    self.rows = rows
  }
}

/// A fact under its name.
struct ReportField: Sendable, Equatable {
  let name: String
  let value: String
}
