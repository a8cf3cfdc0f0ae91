/// What the command line asks for.
enum Command {
  /// The exit status of a victim whose way to die did not kill it.
  static let survived: Int32 = 3

  static let usage = """
    usage: crash-lab KIND (--database DIR | --no-handler) [--threads N] [--stack BYTES]
                          [--on main|pthread|dispatch|task|earlier-thread|earlier-worker]
                          [--condition NAME]... [--no-last-words]
                          [--milliseconds N] [--forgo CALLS] [--announce]
           crash-lab chain SCENE (--database DIR | --no-handler)
           crash-lab process --database DIR [--no-symbols]
           crash-lab library DIR FILE NUMBER PLACE
           crash-lab tell SCENE DIR FOLDER
           crash-lab idle|start-again|status|forked --database DIR
           crash-lab --list
           crash-lab --list-conditions

      KIND          a way to die; --list names them
      chain         plays a program that had signal handlers of its own before; C/chain.c has them
      process       converts what earlier runs left behind, one line for each dump
      library       crashes in a library that a test compiled, with its reports in DIR
      tell          tells the handler all it can be told, with its reports in DIR and its own files in
                    FOLDER, and then ends as SCENE says; Telling.swift has them
      idle          starts the handler, prints what runs in the process, and exits
      start-again   starts the handler twice more, with the same folder and with another
      status        prints what handlerStatus finds, before and after the handler was spoiled
      forked        forks a child that does nothing as long as its parent lives, and prints its ID
      --no-handler  dies without any handler of ours
      --on          the thread that crashes; main if not given
      --condition   what surrounds the crash; --list-conditions names them
      --threads     more threads, all asleep, started before the crash
      --stack       bytes of stack for each pthread
      --milliseconds
                    the handler's own time
      --forgo       system calls that the handler leaves out; as in the conditions that end in
                    "-killed"
      --announce    writes a line to standard output right before the crash
      --no-last-words  the handler prints nothing
      --no-symbols  keeps no names and lines with the reports, which takes seconds where this program was
                    built without optimisation
    """

  case help
  case list
  case listConditions
  case process(String, storingSymbols: Bool)
  case probe(Probe, String)
  case crash(Crash)
  case library(LibraryCrash)
  case tell(Telling)
  /// Nil for no handler of ours.
  case chain(String, database: String?)

  init(arguments: [String]) throws(UsageError) {
    var remaining = arguments[...]
    guard let first = remaining.popFirst() else { throw UsageError("what shall it be?") }
    // What takes words instead of options.
    switch first {
    case "library":
      self = .library(try LibraryCrash(Array(remaining)))
      return
    case "tell":
      self = .tell(try Telling(Array(remaining)))
      return
    default: break
    }
    let scene = first == "chain" ? remaining.popFirst() : nil
    var options: [String: String] = [:]
    var conditions: [String] = []
    let known = [
      "--database", "--on", "--threads", "--stack", "--milliseconds", "--forgo",
    ]
    while let option = remaining.popFirst() {
      if ["--announce", "--no-handler", "--no-last-words", "--no-symbols"].contains(option) {
        options[option] = ""
      } else if option == "--condition" {
        guard let value = remaining.popFirst() else { throw UsageError("\(option) needs a value") }
        conditions.append(value)
      } else if known.contains(option) {
        guard let value = remaining.popFirst() else { throw UsageError("\(option) needs a value") }
        options[option] = value
      } else {
        throw UsageError("unknown option \(option)")
      }
    }
    switch first {
    case "--help", "-h": self = .help
    case "--list": self = .list
    case "--list-conditions": self = .listConditions
    case "chain":
      guard let scene else { throw UsageError("chain needs a scene") }
      self = .chain(
        scene, database: options["--no-handler"] == nil ? try Self.database(options) : nil)
    case "process":
      self = .process(
        try Self.database(options), storingSymbols: options["--no-symbols"] == nil)
    default:
      if let probe = Probe(rawValue: first) {
        self = .probe(probe, try Self.database(options))
      } else {
        self = .crash(try Crash(name: first, conditions: conditions, options: options))
      }
    }
  }

  private static func database(_ options: [String: String]) throws(UsageError) -> String {
    guard let database = options["--database"], !database.isEmpty else {
      throw UsageError("--database DIR is missing")
    }
    return database
  }
}

/// What is wrong with a command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
