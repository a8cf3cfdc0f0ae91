/// What the command line asks for.
enum Command {
  /// The exit status if the requested crash did not end the process.
  static let survived: Int32 = 3

  case help
  case list
  case listConditions
  case listEnds
  case subcommand(any Subcommand)
  case crash(Crash)

  init(arguments: [String]) throws(UsageError) {
    guard let first = arguments.first else { throw UsageError("what shall it be?") }
    switch first {
    case "--help", "-h": self = .help
    case "--list": self = .list
    case "--list-conditions": self = .listConditions
    case "--list-ends": self = .listEnds
    default:
      let arguments = try Arguments(first, arguments.dropFirst())
      if let subcommand = Self.subcommands[first] {
        self = .subcommand(try subcommand.init(arguments))
      } else {
        self = .crash(try Crash(arguments))
      }
    }
  }
}
