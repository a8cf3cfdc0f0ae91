/// The words and options of a command line.
struct Arguments {
  private static let flags: Set = [
    "--among-objects", "--announce", "--no-handler", "--no-summary", "--no-symbols",
    "--no-unclean-ends",
    "--plant", "--show-identity", "--throws", "--wait",
  ]
  private static let withValue: Set = [
    "--and", "--condition", "--database", "--forgo", "--identifier", "--milliseconds", "--note",
    "--on",
    "--privacy",
    "--stack",
    "--threads",
  ]

  /// The first word: a way to die, or a subcommand.
  let name: String
  /// The words after the first.
  private(set) var words: [String] = []
  /// The value of each given option; empty for an option without a value.
  private(set) var options: [String: String] = [:]
  /// The values of all `--condition` options, in order.
  private(set) var conditions: [String] = []

  init(_ name: String, _ rest: some Sequence<String>) throws(UsageError) {
    self.name = name
    var remaining = Array(rest)[...]
    while let argument = remaining.popFirst() {
      if Self.flags.contains(argument) {
        options[argument] = ""
      } else if Self.withValue.contains(argument) {
        guard let value = remaining.popFirst() else {
          throw UsageError("\(argument) needs a value")
        }
        if argument == "--condition" { conditions.append(value) } else { options[argument] = value }
      } else if argument.hasPrefix("-") {
        throw UsageError("unknown option \(argument)")
      } else {
        words.append(argument)
      }
    }
  }

  func has(_ flag: String) -> Bool { options[flag] != nil }

  /// The words, if their number is that of the names.
  func words(_ names: String...) throws(UsageError) -> [String] {
    guard words.count == names.count else {
      let expected = ([name] + names).joined(separator: " ")
      throw UsageError("not '\(expected)': \(words.joined(separator: " "))")
    }
    return words
  }

  /// The case that a word names.
  ///
  /// - Throws: an error that lists all cases, if the word names none of them.
  static func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ word: String
  ) throws(UsageError) -> Choice {
    guard let choice = Choice(rawValue: word) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("'\(word)' is none of \(names)")
    }
    return choice
  }

  /// The value of `--database`.
  ///
  /// - Throws: if the option is missing.
  var database: String {
    get throws(UsageError) {
      guard let database = options["--database"], !database.isEmpty else {
        throw UsageError("--database DIR is missing")
      }
      return database
    }
  }

  /// The handler's database; nil if this program is to start no handler.
  ///
  /// - Throws: if neither `--database` nor `--no-handler` is given.
  var databaseOfHandler: String? {
    get throws(UsageError) { has("--no-handler") ? nil : try database }
  }
}

/// An error in the command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
