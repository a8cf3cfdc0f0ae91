public import Foundation

/// The page of the documentation that a full run writes.
public struct CatalogueTable {
  private let results: CatalogueResults
  private let command: String
  private let rounds: Int
  private let started: Date

  /// - Parameter rounds: how many ended, which are fewer than the command's while it runs.
  public init(results: CatalogueResults, command: String, rounds: Int, started: Date) {
    self.results = results
    self.command = command
    self.rounds = rounds
    self.started = started
  }

  public var text: String {
    ([header] + CrashCondition.Group.allCases.map(section)).joined(separator: "\n\n") + "\n"
  }

  private var header: String {
    let date = started.formatted(.iso8601.year().month().day())
    let seconds = Int(Date().timeIntervalSince(started))
    return """
      # The catalogue of crashes

      Written by `\(command)` on \(date): \(rounds) rounds, \(results.runs) runs, \(results.failed)
      failed, in \(seconds) s.
      Machine: \(Self.machine).

      Each run is a process that dies without a handler and one that dies with it. A run is good if both end by the same wait
      status and print the same, if the second leaves the stated number of complete reports and nothing else, and if each report
      has the signal, its code and address, the explanation, the message and, where the thread's own act is the crash, the
      function that the kind must have. A number is that of good runs; **3 of 4** tells that one was not. A dash: the pair
      cannot be had, or is one that CrashCondition leaves out; the reasons are there.

      [Decision 0015](Decisions/0015-a-cut-of-the-catalogue.md) says what of this runs with every change.
      """
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
    for kind in KnownCrash.all.map(\.kind) + QuietEnd.all.map(\.kind) {
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
