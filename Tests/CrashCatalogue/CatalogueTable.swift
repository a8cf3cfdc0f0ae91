public import Foundation

/// The results of a run as Markdown: the full table, and the page of the documentation.
public struct CatalogueTable {
  private let results: CatalogueResults
  private let command: String
  private let rounds: Int
  private let started: Date

  /// - Parameter rounds: the number of completed rounds, fewer than the command's while it runs.
  public init(results: CatalogueResults, command: String, rounds: Int, started: Date) {
    self.results = results
    self.command = command
    self.rounds = rounds
    self.started = started
  }

  /// Every kind under every condition, with the number of successful runs.
  public var text: String {
    CrashCondition.Group.allCases.map(section).joined(separator: "\n\n") + "\n"
  }

  /// `Docs/Catalogue.md`: the totals, the command, and the pairs that are left out.
  public var page: String {
    [header, totals, Self.omissions].joined(separator: "\n\n") + "\n"
  }

  private var header: String {
    let date = started.formatted(.iso8601.year().month().day())
    let seconds = Int(Date().timeIntervalSince(started))
    return """
      # The catalogue of crashes

      `\(command)` on \(date): \(rounds == 1 ? "1 round" : "\(rounds) rounds"), \(results.runs) runs, \(results.failed) failed, in \(seconds) s.
      Machine: \(Self.machine).

      The command prints the full table, which has every kind of crash under every condition. `--page FILE` writes this page. Each
      run compares two processes: one ends without the handler, the other with it. A run is good if both processes end with the same
      wait status and print the same output, and if the process with the handler leaves the expected number of complete reports and
      nothing else. Each report must have the expected signal, code, address, explanation and message. If the thread itself causes the
      crash, the report must also have the expected function. [Decision 30](Decisions/30-testing.md) says which part of the catalogue
      runs with every change.
      """
  }

  private var totals: String {
    var lines = [
      "| conditions | number | pairs of condition and kind | runs | failed |",
      "|---|---|---|---|---|",
    ]
    var conditions = 0
    var pairs = 0
    for group in CrashCondition.Group.allCases {
      let counts = CrashCondition.all.filter { $0.group == group }.map { condition in
        Self.kinds.map { results.count(kind: $0, condition: condition.name) }.filter { $0.runs > 0 }
      }.filter { !$0.isEmpty }
      let all = counts.joined()
      conditions += counts.count
      pairs += all.count
      let runs = all.reduce(0) { $0 + $1.runs }
      let failed = all.reduce(0) { $0 + $1.failed }
      lines.append("| \(group.rawValue) | \(counts.count) | \(all.count) | \(runs) | \(failed) |")
    }
    lines.append("| all | \(conditions) | \(pairs) | \(results.runs) | \(results.failed) |")
    return lines.joined(separator: "\n")
  }

  private static let kinds = KnownCrash.all.map(\.kind) + QuietEnd.all.map(\.kind)

  /// The pairs that are not run, and the reasons.
  public static var omissions: String {
    """
    ## Left out

    If a condition takes seconds, it is run with only one kind of each sort:
    \(list(CrashCondition.representatives)).
    A kind is not run on a thread on which it cannot happen. If the crashing thread itself creates the condition, kinds in which
    another thread crashes are not run. Conditions that need root, a tool or a kernel that the machine does not have are not run,
    and the table says so. These pairs are also left out:

    | conditions | kinds | reason |
    |---|---|---|
    \(omittedPairs.joined(separator: "\n"))
    """
  }

  /// A row for each reason and set of kinds.
  private static var omittedPairs: [String] {
    var rows: [(reason: String, kinds: [String], conditions: [String])] = []
    for condition in CrashCondition.all {
      for (reason, pairs) in Dictionary(grouping: condition.excluded, by: \.value).sorted(by: {
        $0.key < $1.key
      }) {
        let kinds = Self.kinds.filter { kind in pairs.contains { $0.key == kind } }
        if let index = rows.firstIndex(where: { $0.reason == reason && $0.kinds == kinds }) {
          rows[index].conditions.append(condition.name)
        } else {
          rows.append((reason, kinds, [condition.name]))
        }
      }
    }
    return rows.map { row in
      let others = kinds.filter { !row.kinds.contains($0) }
      let kinds = others.count < row.kinds.count ? "all but \(list(others))" : list(row.kinds)
      return "| \(list(row.conditions)) | \(kinds) | \(row.reason) |"
    }
  }

  private static func list(_ names: [String]) -> String {
    names.map { "`\($0)`" }.joined(separator: ", ")
  }

  private static var machine: String {
    var name = utsname()
    unsafe uname(&name)
    let release = unsafe withUnsafeBytes(of: name.release) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return "Linux \(release), \(ProcessInfo.processInfo.activeProcessorCount) processors"
  }

  private func section(_ group: CrashCondition.Group) -> String {
    let conditions = CrashCondition.all.filter { $0.group == group }
    var lines = ["## \(group.rawValue)", ""]
    lines += conditions.map { condition in
      let missing = condition.canBeHad ? "" : " (cannot be had here)"
      return "- `\(condition.name)`: \(condition.summary)\(missing)"
    }
    lines += ["", "| kind | " + conditions.map(\.name).joined(separator: " | ") + " |"]
    lines.append("|---|" + conditions.map { _ in "---|" }.joined())
    for kind in Self.kinds {
      let cells = conditions.map { cell(kind, $0.name) }
      guard cells.contains(where: { $0 != "-" }) else { continue }
      lines.append("| \(kind) | " + cells.joined(separator: " | ") + " |")
    }
    return lines.joined(separator: "\n")
  }

  private func cell(_ kind: String, _ condition: String) -> String {
    let count = results.count(kind: kind, condition: condition)
    guard count.runs > 0 else { return "-" }
    return count.failed == 0 ? "\(count.runs)" : "**\(count.runs - count.failed) of \(count.runs)**"
  }
}
