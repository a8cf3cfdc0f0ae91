internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// Formats reports, groups of reports and processed dumps as tables for a terminal.
struct ReportTable {
  enum Style: String {
    case strong = "1"
    case faint = "2"
    case alarm = "31"
  }

  /// A column's title, minimum width in characters, and style.
  struct Column {
    let title: String
    let minimum: Int
    var style: Style?
    var isNumber = false
    /// True for a column that is left out if the table is wider than the terminal.
    var isOptional = false
  }

  private let width: Int
  private let usesColor: Bool
  private let now: Timestamp

  init(width: Int, usesColor: Bool, now: Timestamp) {
    self.width = width
    self.usesColor = usesColor
    self.now = now
  }

  /// A header, and a line for each row; empty if there are no rows.
  ///
  /// - Parameter hasTitles: false for rows that follow a table.
  func text(of rows: [ListRow], hasTitles: Bool = true) -> String {
    let ids = Self.shortIDs(of: rows.map(\.id.description))
    let cells = zip(rows, ids).map { row, id in
      [
        id, age(of: row), row.programText, CrashLine.text(of: row),
        CrashLine.location(of: row.facts),
      ]
    }
    return text(
      of: cells,
      [
        Column(title: "ID", minimum: 8, style: .strong),
        Column(title: "WHEN", minimum: 16, style: .faint, isOptional: true),
        Column(title: "PROGRAM", minimum: 7, isOptional: true),
        Column(title: "CRASH", minimum: 12, style: .alarm),
        Column(title: "WHERE", minimum: 10, isOptional: true),
      ], hasTitles: hasTitles)
  }

  /// A table with a row for each group of reports, in the order of `groups`: the largest group first.
  func text(of groups: [ReportGroup]) -> String {
    let rows = groups.map { group in
      [
        String(group.count), age(of: group.last), age(of: group.first),
        group.program?.escapedForMessage ?? "-", String(group.reportIDs.last?.prefix(8) ?? "-"),
        (group.signature ?? "no signal in the dump").escapedForMessage,
      ]
    }
    return text(
      of: rows,
      [
        Column(title: "COUNT", minimum: 5, style: .strong, isNumber: true),
        Column(title: "LAST", minimum: 16, style: .faint, isOptional: true),
        Column(title: "FIRST", minimum: 16, style: .faint, isOptional: true),
        Column(title: "PROGRAM", minimum: 7, isOptional: true),
        Column(title: "NEWEST", minimum: 8, style: .strong),
        Column(title: "SIGNATURE", minimum: 12, style: .alarm),
      ])
  }

  /// A table; if its columns do not fit even when they are narrow, the last optional columns are left out.
  func text(of rows: [[String]], _ columns: [Column], hasTitles: Bool = true) -> String {
    guard !rows.isEmpty else { return "" }
    let widths = widths(of: rows, columns)
    if total(widths) > width, let last = columns.lastIndex(where: \.isOptional) {
      var (rows, columns) = (rows, columns)
      columns.remove(at: last)
      for index in rows.indices { rows[index].remove(at: last) }
      return text(of: rows, columns, hasTitles: hasTitles)
    }
    func line(_ cells: [String], isTitle: Bool) -> String {
      var text = ""
      for (number, cell) in cells.enumerated() {
        let column = columns[number]
        let shown = cell.shortened(to: widths[number])
        let blanks = String(repeating: " ", count: widths[number] - shown.count)
        let styled = styled(shown, isTitle ? .faint : column.style)
        if column.isNumber {
          text += blanks + styled
        } else if number == cells.count - 1 {
          text += styled
        } else {
          text += styled + blanks
        }
        if number < cells.count - 1 { text += "  " }
      }
      return text + "\n"
    }
    return (hasTitles ? line(columns.map(\.title), isTitle: true) : "")
      + rows.map { line($0, isTitle: false) }.joined()
  }

  private func total(_ widths: [Int]) -> Int { widths.reduce(2 * (widths.count - 1), +) }

  /// Makes each column as wide as its widest cell; if the columns do not fit, the widest ones are narrowed.
  private func widths(of rows: [[String]], _ columns: [Column]) -> [Int] {
    var widths = columns.indices.map { number in
      max(columns[number].title.count, rows.map { $0[number].count }.max() ?? 0)
    }
    while total(widths) > width {
      // Narrow the widest column that may still be narrowed.
      let candidates = widths.indices.filter { widths[$0] > columns[$0].minimum }
      guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
    }
    return widths
  }

  private func styled(_ text: String, _ style: Style?) -> String {
    guard usesColor, let style, !text.isEmpty else { return text }
    return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
  }

  /// The last line: the numbers of reports, of dumps without a report, and of pending reports that could not be
  /// uploaded.
  ///
  /// - Parameter total: the number of reports before a filter.
  func count(of rows: [ListRow], total: Int, _ rest: DatabaseRest) -> String {
    let count = rows.count { $0.stored != nil }
    var text =
      total == 0
      ? "No reports"
      : count == 0
        ? "No reports match; there are \(total)"
        : count == total ? Self.reports(total) : "\(count) of \(Self.reports(total))"
    let hangs = rows.count { $0.state == .hanging }
    text += hangs == 0 ? "" : ", \(hangs) \(hangs == 1 ? "hang lasts" : "hangs last")"
    text += rest.waiting == 0 ? "" : ", \(rest.waitingText)"
    text += rest.quarantined == 0 ? "" : ", \(rest.quarantined) in quarantine (\(rest.quarantine))"
    if let unsent = UnsentReports(among: rows.lazy.compactMap(\.stored)) {
      text += ", \(unsent.count) not uploaded"
      if let next = unsent.nextAttempt, next > now {
        text += " (next attempt \(next.second.dropFirst(11)) UTC)"
      }
      if let reason = unsent.reason {
        text += ": \(reason.escapedForMessage)"
      }
    }
    return text
  }

  static func reports(_ count: Int) -> String { "\(count) \(count == 1 ? "report" : "reports")" }

  /// The shortest beginnings of IDs, of at least 8 characters, that are all different.
  static func shortIDs(of ids: [String]) -> [String] {
    let sorted = ids.sorted()
    let shared = zip(sorted, sorted.dropFirst()).map { left, right in
      zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
    }
    let length = max(8, min(36, (shared.max() ?? 0) + 1))
    return ids.map { String($0.prefix(length)) }
  }

  /// The age of a row, with the mark of its time.
  private func age(of row: ListRow) -> String {
    age(of: row.time) + (row.timeMark(now: now).map { ", \($0.rawValue)" } ?? "")
  }

  /// A time as an age in seconds, minutes, hours or days.
  ///
  /// A time at least 31 days ago is printed as a date, and a time more than a minute in the future as a date with the
  /// time of day.
  func age(of time: Timestamp) -> String {
    let seconds = now.seconds.clampedSubtracting(time.seconds)
    func ago(_ count: Int64, _ unit: String) -> String { "\(count) \(unit) ago" }
    return switch seconds {
    case ..<(-60): String(time.second.dropLast(3))
    case ..<60: ago(max(0, seconds), "s")
    case ..<3600: ago(seconds / 60, "min")
    case ..<86_400: ago(seconds / 3600, "h")
    case ..<(2 * 86_400): "1 day ago"
    case ..<(31 * 86_400): ago(seconds / 86_400, "days")
    default: String(time.second.prefix(10))
    }
  }
}

/// Describes a crash on one line.
enum CrashLine {
  /// The crash of a row; a dump that is not a report yet is marked.
  static func text(of row: ListRow) -> String {
    switch row.state {
    case .report, .writing: text(of: row.facts)
    case .waiting: "waiting: " + (row.facts.map(text) ?? "not read")
    case .hanging: "hanging now"
    }
  }

  /// The message or, without one, the signal and the cause; "hang" or "dump" if there is no signal either.
  ///
  /// For a run that left no dump, the text says how the run ended. The text is "-" if the facts contain none of this,
  /// and "(cannot be read)" without facts.
  static func text(of facts: ReportFacts?) -> String {
    guard let facts else { return "(cannot be read)" }
    if let end = facts.end { return "ended: " + RunEndKind.fewWords(for: end) }
    let line = facts.message?.split(whereSeparator: \.isNewline).first.map(String.init)
    if let line = line.map(withoutFile), !line.isEmpty { return line.escapedForMessage }
    // The signature of a report that is not about a crash begins with "hang" or "dump", which is shown here.
    if facts.signal == nil, let word = facts.signature?.split(separator: " ").first {
      return String(word).escapedForMessage
    }
    let words = [facts.signalName, facts.cause.map(spaced)].compactMap(\.self)
    return words.isEmpty ? "-" : words.joined(separator: " ").escapedForMessage
  }

  /// The file and line, followed by the function, because a table may cut off the end of the text.
  static func location(of facts: ReportFacts?) -> String {
    guard let place = facts?.place else { return "-" }
    let text = place.escapedForMessage
    guard let range = text.ranges(of: " at ").last else { return text }
    return text[range.upperBound...] + " " + text[..<range.lowerBound]
  }

  private static func spaced(_ word: String) -> String {
    (word.hasPrefix("swift-") ? String(word.dropFirst(6)) : word).replacing("-", with: " ")
  }

  /// A message of Swift's runtime without "module/File.swift:12: Fatal error: ".
  ///
  /// The place of the crash is shown separately.
  private static func withoutFile(_ message: String) -> String {
    let head = /([^ :]+\.swift:[0-9]+:[ ])?(Fatal error:[ ])?/
    guard let match = message.prefixMatch(of: head) else { return message }
    return String(message[match.range.upperBound...])
  }
}

extension String {
  /// The text, cut to a number of characters; if it is cut, the last character is an ellipsis.
  func shortened(to count: Int) -> String {
    self.count > count ? prefix(max(0, count - 1)) + "…" : self
  }
}
