/// An option of a subcommand.
///
/// The parser, the help, the manual page and the completion are all derived from these properties, so they cannot
/// contradict each other.
struct CommandOption: Sendable {
  /// The kind of value that an option or operand takes, so that a shell can complete the value.
  enum Completion: Sendable, Equatable {
    case nothing
    case directory
    case file
    case words([String])
    case report
    case program
    case processID
    case subcommand
  }

  /// The names with their dashes, short names first; code refers to the option by the last name.
  let names: [String]
  /// The placeholder for the value in help; nil for a flag.
  let value: String?
  let completion: Completion
  /// A description in one or more sentences, without a final period.
  let text: String

  /// - Parameter names: the names, separated by a comma and a space.
  init(
    _ names: String, value: String? = nil, completing completion: Completion = .nothing,
    _ text: String
  ) {
    self.init(
      names: names.split(separator: ", ").map(String.init), value: value, completing: completion,
      text)
  }

  init(
    names: [String], value: String? = nil, completing completion: Completion = .nothing,
    _ text: String
  ) {
    self.names = names
    self.value = value
    self.completion = completion
    self.text = text
  }

  var name: String { names.last ?? "" }

  /// The left column of help, such as "-o, --output FILE".
  var term: String {
    names.joined(separator: ", ") + (value.map { " \($0)" } ?? "")
  }
}

/// The options of the subcommands; most of the options belong to several subcommands.
extension CommandOption {
  static let database = CommandOption(
    "-d, --database", value: "DIR", completing: .directory,
    "the database (default: $POSTMORTEM_DATABASE)")

  static let databaseToRead = CommandOption(
    "-d, --database", value: "DIR", completing: .directory,
    "the database (default: $POSTMORTEM_DATABASE; else /var/lib/postmortem or postmortem/ in XDG_STATE_HOME or "
      + "~/.local/state, if only one of these is a database)")

  static let since = CommandOption(
    "--since", value: "WHEN", completing: .words(["yesterday", "today", "1h", "7d"]),
    "leave out crashes before this time: yesterday, today, an age (90m, 7d, 1d12h, \"2 hours ago\"), or a date in "
      + "UTC, with or without a time of day. Times from JSON output are accepted")

  static let until = CommandOption(
    "--until", value: "WHEN", completing: .words(["yesterday", "today", "1h", "7d"]),
    "leave out crashes after this time")

  static let program = CommandOption(
    "--program", value: "NAME", completing: .program, "leave out reports of other programs")

  static let processID = CommandOption(
    "--pid", value: "PID", "leave out reports of other processes")

  static let symbols = CommandOption(
    "--symbols", value: "DIR", completing: .directory,
    "also search DIR for files of the same builds: in DIR itself under any name, as .build-id/xx/yyyy.debug, or "
      + "under their full path; may be given more than once")

  static let sanitize = CommandOption(
    "--sanitize",
    "leave out data that may be secret: memory except stacks; everything in stacks and registers except addresses "
      + "and numbers below 4,096; vector registers; arguments; annotations; breadcrumbs; thread names; messages "
      + "that contain values")

  static let noMemory = CommandOption(
    "--no-memory", "like --sanitize, but leave out stack memory too; the frames are kept")

  static let spool = CommandOption(
    "--spool", value: "DIR", completing: .directory,
    "the directory for a temporary copy of a core file that comes from a pipe or is compressed (default: $TMPDIR, "
      + "or else /var/tmp)")

  static let output = CommandOption(
    "-o, --output", value: "FILE", completing: .file,
    "write to FILE, and replace it if it exists")

  static let color = CommandOption(
    "--color", value: "WHEN", completing: .words(["always", "never", "auto"]),
    "when to use color: always, never, or auto (the default: on a terminal, unless NO_COLOR is set)"
  )

  static let quiet = CommandOption("-q, --quiet", "do not print progress or remarks")

  static let create = CommandOption(
    "--create",
    "create the database if the directory does not exist, or has neither dumps nor reports")

  static let yes = CommandOption("-y, --yes", "do not ask for confirmation on a terminal")

  static func json(_ text: String) -> CommandOption { CommandOption("--json", text) }

  /// The options that every subcommand has, which help lists once.
  static let shared = [
    CommandOption("-h, --help", "print help for the subcommand"),
    CommandOption(
      "--shared-with", value: "GROUP",
      "allow databases that the members of GROUP may write to (HandlerOptions.sharedGroup)"),
    CommandOption(
      "--no-pager",
      "on a terminal, do not pass a list or text to the program that PAGER names, or to less"),
  ]
}
