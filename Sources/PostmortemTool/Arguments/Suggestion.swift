/// Finds the subcommand or option that the user probably meant by an unknown word.
enum Suggestion {
  /// Words of other tools, each with this tool's subcommand that does the same.
  private static let subcommands: [String: String] = [
    "log": "list", "logs": "list", "ps": "list", "reports": "list", "crashes": "list",
    "view": "show", "cat": "show", "report": "show", "last": "show latest", "latest": "show latest",
    "convert": "process", "import": "process", "summary": "stats", "df": "stats", "du": "stats",
    "diff": "list --since yesterday", "new": "list --since yesterday",
    "top": "list --group", "group": "list --group", "send": "upload", "submit": "upload",
    "gc": "prune", "clean": "prune", "vacuum": "prune", "remove": "delete", "del": "delete",
    "gdb": "debug", "lldb": "debug", "check": "doctor", "html": "dashboard", "follow": "watch",
    "tail": "watch", "exec": "run", "start": "run", "dump": "capture", "snapshot": "capture",
    "man": "manual",
  ]

  /// Options of other tools, each with this tool's options that do the same.
  private static let options: [String: [String]] = [
    "--lines": ["-n"], "--tail": ["-n"], "--last": ["-n"], "--max": ["-n"], "-L": ["-n"],
    "--vacuum-time": ["--age"], "--keep": ["--age"], "--older-than": ["--age"],
    "-f": ["--yes"], "--force": ["--yes"], "--newest": ["--reverse"],
    "--vacuum-size": ["--size"], "--max-size": ["--size"], "--before": ["--until"],
    "--after": ["--since"], "--from": ["--since"], "--to": ["--until"], "--all": ["--age", "-n"],
    "--name": ["--program"], "--comm": ["--program"], "--format": ["--json"], "--id": ["--pid"],
    "--directory": ["--database"], "--dir": ["--database"], "--db": ["--database"],
    "--file": ["--output"], "--out": ["--output"], "--compact": ["--quiet"],
  ]

  /// A question to append to the error about an unknown subcommand; nil if there is no suggestion.
  static func subcommand(_ word: String) -> String? {
    subcommands[word].map { "; did you mean '\($0)'?" }
  }

  /// Options of other tools or other subcommands, and the subcommands that do what these options do.
  private static let elsewhere = [
    "-f": "postmortem watch", "--follow": "postmortem watch",
    "--older-than": "postmortem prune --age",
    "--vacuum-time": "postmortem prune --age", "--age": "postmortem prune --age",
    "--until": "postmortem prune --age",
    "--html": "postmortem show --html, or postmortem dashboard",
  ]

  /// A hint that names the option that the user probably meant, or the subcommand that does what the option does in
  /// other tools; nil if there is no suggestion.
  static func option(_ word: String, among known: [String]) -> String? {
    if let meant = options[word]?.first(where: known.contains) {
      return "; did you mean '\(meant)'?"
    }
    return elsewhere[word].map { "; see \($0)" }
  }

  /// A question to append to an error; empty if no known word is similar.
  static func text(for word: String, among known: [String]) -> String {
    // Very short words are left out, because any two options of one letter would count as similar.
    let near = known.map { (distance(word, $0), $0) }.filter { distance, known in
      known.count > 2 && distance <= max(1, known.count / 3)
    }
    guard let best = near.min(by: { $0 < $1 }) else { return "" }
    return "; did you mean '\(best.1)'?"
  }
  /// The number of insertions, removals, replacements and swaps of neighbors between two words.
  ///
  /// Source: optimal string alignment (Damerau-Levenshtein, restricted).
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
    var (before, last) = ([Int](), Array(0...right.count))
    for (row, byte) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var best = min(last[column + 1], current[column]) + 1
        best = min(best, last[column] + (byte == other ? 0 : 1))
        if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
          best = min(best, before[column - 1] + 1)
        }
        current.append(best)
      }
      (before, last) = (last, current)
    }
    return last[right.count]
  }
}
