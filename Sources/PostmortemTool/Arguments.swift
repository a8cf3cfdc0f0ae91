internal import IntermediateDump

/// The words of a command line, sorted into operands, flags and options with a value.
///
/// Source: POSIX.1-2024, 12.2 (Utility Syntax Guidelines), with long names.
struct Arguments {
  private(set) var operands: [String] = []
  private var flags: Set<String> = []
  private var options: [String: [String]] = [:]

  /// Sorts the words.
  ///
  /// - Parameters:
  ///   - words: those behind the subcommand's name.
  ///   - flags: names, with dashes, without a value.
  ///   - options: names with a value, as `--name value` or `--name=value`.
  ///   - operands: the allowed number of operands.
  ///   - help: shown with the error.
  init(
    _ words: [String], flags: Set<String> = [], options: Set<String> = [],
    operands: ClosedRange<Int>, help: String
  ) throws(ToolError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        self.operands += rest
        break
      }
      // A single dash is an operand by convention.
      guard word.hasPrefix("-"), word != "-" else {
        self.operands.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if flags.contains(name), parts.count == 1 {
        self.flags.insert(name)
      } else if options.contains(name) {
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
          throw ToolError.usage("\(name) needs a value", help: help)
        }
        self.options[name, default: []].append(value)
      } else {
        let hint = Suggestion.text(for: name, among: flags.union(options).sorted())
        throw ToolError.usage(
          "the option '\(word.escapedForMessage)' is not known\(hint)", help: help)
      }
    }
    guard self.operands.count >= operands.lowerBound else {
      throw ToolError.usage("an argument is missing", help: help)
    }
    guard self.operands.count <= operands.upperBound else {
      let first = self.operands[operands.upperBound].escapedForMessage
      throw ToolError.usage("'\(first)' is one argument too many", help: help)
    }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// The flags of commands that can leave secrets out.
  static let privacyFlags: Set = ["--sanitize", "--no-memory"]

  /// Its value.
  var privacy: ReportPrivacy {
    has("--no-memory") ? .noMemory : has("--sanitize") ? .sanitized : .full
  }

  subscript(option: String) -> String? { options[option]?.last }

  /// The operand of a command on a process.
  func processID(help: String) throws(ToolError) -> Int32 {
    guard let processID = Int32(operands[0]), processID > 0 else {
      throw ToolError.usage(
        "'\(operands[0].escapedForMessage)' is not a process ID", help: help)
    }
    return processID
  }

  /// Every value of an option that may be given more than once, in order.
  func values(of option: String) -> [String] { options[option] ?? [] }

  /// The value of an option that is a number; nil if it was not given.
  ///
  /// - Parameters:
  ///   - range: the allowed values.
  ///   - help: shown with the error.
  func integer(
    _ option: String, in range: ClosedRange<Int>, help: String
  ) throws(ToolError) -> Int? {
    guard let text = self[option] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw ToolError.usage(
        "\(option) needs a number from \(range.lowerBound) to \(range.upperBound), not "
          + "'\(text.escapedForMessage)'", help: help)
    }
    return number
  }
}

/// The word that was probably meant.
enum Suggestion {
  /// A question to append to an error; empty where no known word is near.
  static func text(for word: String, among known: [String]) -> String {
    // Any two options of one letter are near.
    let near = known.map { (distance(word, $0), $0) }.filter { distance, known in
      known.count > 2 && distance <= max(1, known.count / 3)
    }
    guard let best = near.min(by: { $0 < $1 }) else { return "" }
    return "; did you mean '\(best.1)'?"
  }

  /// The count of insertions, removals, replacements and swaps of neighbours between two words.
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
