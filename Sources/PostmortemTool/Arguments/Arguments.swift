internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The words of a command line, sorted into operands, flags and options with a value.
///
/// Source: POSIX.1-2024, 12.2 (Utility Syntax Guidelines). Long names such as `--json` are an extension of these
/// guidelines.
struct Arguments {
  private(set) var operands: [String] = []
  private var flags: Set<String> = []
  private var options: [String: [String]] = [:]
  /// The help text that usage errors quote.
  let help: String
  private let known: [CommandOption]

  /// Sorts the words after a subcommand's name into operands, flags and options with a value.
  init(_ words: [String], of command: any Subcommand.Type) throws(ToolError) {
    try self.init(
      words, known: command.options + CommandOption.shared, operands: command.operands,
      help: command.help)
    guard let group = self["--shared-with"] else { return }
    do throws(CrashReportDatabaseError) {
      try CrashReportDatabase.share(with: group)
    } catch {
      throw ToolError(error.description)
    }
  }

  /// Sorts the words after the name of a hidden subcommand, which only programs call, into operands, flags and
  /// options.
  ///
  /// `flags` and `options` contain the names of the flags and options that the subcommand accepts.
  init(
    _ words: [String], flags: Set<String> = [], options: Set<String> = [],
    operands: ClosedRange<Int>, help: String
  ) throws(ToolError) {
    let known =
      flags.map { CommandOption(names: [$0], "") }
      + options.map { CommandOption(names: [$0], value: "VALUE", "") }
    try self.init(words, known: known, operands: Operands(operands, "an operand"), help: help)
  }

  private init(
    _ words: [String], known: [CommandOption], operands: Operands, help: String
  ) throws(ToolError) {
    self.help = help
    self.known = known
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        self.operands += rest
        break
      }
      // By convention, a single dash is an operand.
      guard word.hasPrefix("-"), word != "-" else {
        self.operands.append(word)
        guard operands.isCommand else { continue }
        self.operands += rest
        break
      }
      try take(word, &rest)
    }
    guard self.operands.count >= operands.count.lowerBound else {
      throw usage("missing argument: \(operands.name)")
    }
    guard self.operands.count <= operands.count.upperBound else {
      throw unexpected(self.operands[operands.count.upperBound])
    }
  }

  /// Reads an option and, if the next word is its value, that value.
  private mutating func take(
    _ word: String, _ rest: inout ArraySlice<String>
  ) throws(ToolError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if let option = option(String(parts[0])) {
      if option.value == nil {
        guard parts.count == 1 else {
          throw usage("\(parts[0]) does not take a value: '\(word.escapedForMessage)'")
        }
        flags.insert(option.name)
      } else {
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
          throw usage("\(parts[0]) needs a value")
        }
        options[option.name, default: []].append(value)
      }
      return
    }
    // As other commands have it: -5 for --limit 5, and --no-color for --color never.
    if let count = Int(word.dropFirst()), count >= 0, option("--limit") != nil {
      options["--limit", default: []].append("\(count)")
      return
    }
    if word == "--no-color", option("--color") != nil {
      options["--color", default: []].append("never")
      return
    }
    guard !word.hasPrefix("--"), try takeCluster(word, &rest) else {
      throw unknown(String(parts[0]))
    }
  }

  /// Reads several one-letter flags after one dash; the last letter may be an option with a value.
  ///
  /// - Returns: false if a letter is not a known option, or if the word is a long option with only one dash.
  private mutating func takeCluster(
    _ word: String, _ rest: inout ArraySlice<String>
  ) throws(ToolError) -> Bool {
    var letters = word.dropFirst()
    // A word such as "-json" is treated as a mistake for "--json", and not as several flags.
    guard option("-" + word) == nil else { return false }
    while let letter = letters.popFirst() {
      guard let option = option("-\(letter)") else { return false }
      guard option.value != nil else {
        flags.insert(option.name)
        continue
      }
      guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
        throw usage("-\(letter) needs a value")
      }
      options[option.name, default: []].append(value)
      return true
    }
    return true
  }

  private func option(_ name: String) -> CommandOption? {
    known.first { $0.names.contains(name) }
  }

  private func unknown(_ name: String) -> ToolError {
    var text = "unknown option '\(name.escapedForMessage)'"
    if let meant = Suggestion.option(name, among: known.flatMap(\.names)) {
      text += meant
    } else {
      text += Suggestion.text(for: name, among: known.flatMap(\.names).sorted())
    }
    return usage(text)
  }

  /// The error for a mistake in this command line: the reason, followed by the command's usage.
  func usage(_ reason: String) -> ToolError { ToolError.usage(reason, help: help) }

  /// The error for an operand that the command does not expect.
  func unexpected(_ operand: String) -> ToolError {
    usage("unexpected argument '\(operand.escapedForMessage)'")
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// True if an option was given, with a value or without one.
  func isGiven(_ option: String) -> Bool { has(option) || self[option] != nil }

  /// The privacy level that `--sanitize` and `--no-memory` ask for.
  var privacy: ReportPrivacy {
    has("--no-memory") ? .noMemory : has("--sanitize") ? .sanitized : .full
  }

  subscript(option: String) -> String? { options[option]?.last }

  /// Every value, in order, of an option that may be given more than once.
  func values(of option: String) -> [String] { options[option] ?? [] }

  /// Reads a process ID from a word.
  func processID(_ word: String) throws(ToolError) -> Int32 {
    guard let processID = Int32(word), processID > 0 else {
      throw usage("'\(word.escapedForMessage)' is not a process ID")
    }
    return processID
  }

  /// The value of an option that takes a number; nil if the option was not given.
  func integer(_ option: String, in range: ClosedRange<Int>) throws(ToolError) -> Int? {
    guard let text = self[option] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw usage(
        "\(option) needs a number from \(range.lowerBound) to \(range.upperBound), not "
          + "'\(text.escapedForMessage)'")
    }
    return number
  }

  /// True if standard output is to be colored, according to `--color`.
  func usesColor() throws(ToolError) -> Bool {
    switch self["--color"] ?? "auto" {
    case "always": return true
    case "never": return false
    case "auto": return self["--output"] == nil && Terminal.usesColor
    default: throw usage("--color must be always, never or auto")
    }
  }

  /// Prints a remark on standard error if that is a terminal, unless `--quiet` or `--json` was given.
  func remark(_ text: @autoclosure () throws -> String) rethrows {
    guard !has("--quiet"), !has("--json"), isatty(2) == 1 else { return }
    Terminal.printProgress(try text() + "\n")
  }

  /// Prints a warning on standard error; with `--json`, as a JSON object, like errors.
  func warn(_ text: String) {
    guard has("--json") else { return Terminal.printError(text) }
    Terminal.printProgress((try? JSON.line(of: ["warning": text])) ?? "")
  }
}
