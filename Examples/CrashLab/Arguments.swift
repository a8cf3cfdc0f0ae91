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
  /// The words behind it.
  private(set) var words: [String] = []
  /// The value of each option that was given; empty for one that takes none.
  private(set) var options: [String: String] = [:]
  /// What `--condition` named, in this order.
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

  /// The words, if there is one for each of these names.
  func words(_ names: String...) throws(UsageError) -> [String] {
    guard words.count == names.count else {
      let expected = ([name] + names).joined(separator: " ")
      throw UsageError("not '\(expected)': \(words.joined(separator: " "))")
    }
    return words
  }

  /// The case that a word names.
  ///
  /// - Throws: an error that lists all, where the word is none of them.
  static func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ word: String
  ) throws(UsageError) -> Choice {
    guard let choice = Choice(rawValue: word) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("'\(word)' is none of \(names)")
    }
    return choice
  }

  /// - Throws: if it is missing.
  var database: String {
    get throws(UsageError) {
      guard let database = options["--database"], !database.isEmpty else {
        throw UsageError("--database DIR is missing")
      }
      return database
    }
  }

  /// Nil for no handler of ours.
  ///
  /// - Throws: if neither `--database` nor `--no-handler` is given.
  var databaseOfHandler: String? {
    get throws(UsageError) { has("--no-handler") ? nil : try database }
  }
}

/// Tells of a command line that makes no sense.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
