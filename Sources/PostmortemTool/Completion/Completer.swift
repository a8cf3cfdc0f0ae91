internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// Completes a command line for a shell: `postmortem __complete WORD...`, which only the scripts of `completion`
/// call.
///
/// The last word is the word to complete. The output has one line for each candidate, with a description after a tab.
/// The last line says which file names the shell adds: ":files", ":directories" or ":none".
enum Completer {
  static let name = "__complete"

  /// The maximum number of report IDs that are offered, newest first.
  private static let maximumReports = 100

  private struct Answer {
    var candidates: [(word: String, description: String)] = []
    var files = "none"
  }

  /// Runs the completion.
  ///
  /// After an error, the command prints neither candidates nor a message, because a message would disturb the user's
  /// command line.
  static func run(_ words: [String]) throws(ToolError) {
    let words = joined(words)
    let answer = answer(for: words)
    let beginning = words.last ?? ""
    var text = ""
    for (word, description) in answer.candidates where word.hasPrefix(beginning) {
      text += "\(word)\t\(description.escapedForMessage)\n"
    }
    try StandardOutput.print(text + ":\(answer.files)\n")
  }

  /// Removes the word "=" that is left when bash splits "--color=auto" into three words.
  ///
  /// Bash replaces only the last of the three words, so the candidates contain the value without the option.
  private static func joined(_ words: [String]) -> [String] {
    var words = words
    while let index = words.firstIndex(of: "="), index > 0 {
      // The value after the "=" is empty so far, and is the word to complete.
      if index == words.count - 1 { words.append("") }
      words.remove(at: index)
    }
    return words
  }

  private static func answer(for words: [String]) -> Answer {
    var before = words.dropLast()
    // Options before the subcommand are skipped.
    while let word = before.first, word.hasPrefix("-") {
      before = before.dropFirst(["-d", "--database", "--shared-with"].contains(word) ? 2 : 1)
    }
    guard let name = before.first else {
      if ["-d", "--database"].contains(words.dropLast().last ?? "") {
        return Answer(files: "directories")
      }
      return Answer(candidates: subcommands)
    }
    if name == "help" { return Answer(candidates: subcommands) }
    guard let command = try? PostmortemTool.subcommand(name) else { return Answer() }
    return answer(for: words, of: command, given: before.dropFirst())
  }

  private static func answer(
    for words: [String], of command: any Subcommand.Type, given: ArraySlice<String>
  ) -> Answer {
    let current = words.last ?? ""
    let options = command.options + CommandOption.shared
    let isAfterEnd = given.contains("--")
    if !isAfterEnd, let last = given.last,
      let option = options.first(where: { $0.names.contains(last) }), option.value != nil
    {
      return values(option.completion, words)
    }
    if !isAfterEnd, let end = current.firstIndex(of: "="),
      let option = options.first(where: { $0.names.contains(String(current[..<end])) })
    {
      var answer = values(option.completion, words)
      let head = current[...end]
      answer.candidates = answer.candidates.map { (head + $0.word, $0.description) }
      return answer
    }
    if !isAfterEnd, current.hasPrefix("-") {
      return Answer(
        candidates: options.flatMap { option in option.names.map { ($0, option.text) } })
    }
    if [.report, .program].contains(command.operands.completion), current.isPath {
      return Answer(files: "files")
    }
    return values(command.operands.completion, words)
  }

  private static var subcommands: [(String, String)] {
    PostmortemTool.subcommands.map { ($0.name, $0.summary) } + [("help", "describe a subcommand")]
  }

  private static func values(_ kind: CommandOption.Completion, _ words: [String]) -> Answer {
    switch kind {
    case .nothing: Answer()
    case .directory: Answer(files: "directories")
    case .file: Answer(files: "files")
    case .words(let words): Answer(candidates: words.map { ($0, "") })
    case .report: Answer(candidates: reports(words))
    case .program: Answer(candidates: programs(words))
    case .processID:
      Answer(candidates: HandlerSearch.handled(in: nil).map { ("\($0.pid)", $0.name) })
    case .subcommand: Answer(candidates: subcommands)
    }
  }

  /// The reports of the database that the command line's words or the environment name, newest first; their facts come
  /// only from the index.
  private static func listed(_ words: [String]) -> [ListedReport] {
    var path =
      ReportDatabase.ofEnvironment ?? (try? ReportDatabase.found(in: ReportDatabase.usualPlaces))
    for (number, word) in words.dropLast().enumerated() {
      if ["-d", "--database"].contains(word), number + 1 < words.count - 1 {
        path = words[number + 1]
      } else if word.hasPrefix("--database=") {
        path = String(word.dropFirst(11))
      } else if word.contains("/"), InputFile.isDirectory(word.expandingTilde) {
        path = word
      }
    }
    guard let path, let place = try? ReportDatabase.place(path.expandingTilde),
      let database = try? CrashReportDatabase(existing: place),
      (try? database.keepsReports()) == true,
      let stored = try? database.unorderedReports().filter({ $0.state != .new }),
      let reports = try? ListedReport.indexed(stored, in: database)
    else { return [] }
    return reports.sorted { ($0.time, $0.stored.id) > ($1.time, $1.stored.id) }
  }

  private static func reports(_ words: [String]) -> [(String, String)] {
    let reports = Array(listed(words).prefix(maximumReports))
    let table = ReportTable(width: 80, usesColor: false, now: .now)
    let ids = ReportTable.shortIDs(of: reports.map(\.stored.id.description))
    return zip(ids, reports).map { id, report in
      let words = [
        ListRow(report).programText, CrashLine.text(of: report.facts).shortened(to: 50),
      ]
      return (id, table.age(of: report.time) + ", " + words.joined(separator: ", "))
    }
  }

  private static func programs(_ words: [String]) -> [(String, String)] {
    let counts = Dictionary(grouping: listed(words).compactMap(\.facts?.program)) { $0 }
    return counts.sorted { $0.key < $1.key }.map { ($0.key, ReportTable.reports($0.value.count)) }
  }
}
