internal import Glibc
internal import Postmortem

/// A program that crashes in many named ways, for tests of what the handler leaves behind.
@main
struct CrashLab {
  static func main() throws {
    let command: Command
    do {
      command = try Command(arguments: Array(CommandLine.arguments.dropFirst()))
    } catch {
      standardError("crash-lab: \(error)\n\n\(Command.usage)")
      exit(EX_USAGE)
    }
    switch command {
    case .help: print(Command.usage)
    case .list: list(CrashKind.all.map { ($0.name, $0.summary) })
    case .listConditions: list(Condition.all.map { ($0.name, $0.summary) })
    case .listEnds: list(WayToEnd.all.map { ($0.name, $0.summary) })
    case .subcommand(let subcommand): run(subcommand)
    case .crash(let crash):
      try crash.run {
        guard let database = crash.database else { return }
        start(database, crash.handlerOptions)
      }
      if crash.returnsFromMain { return }
      standardError("crash-lab: \(crash.kind.name) came back on \(crash.place)\n")
      exit(Command.survived)
    }
  }

  private static func list(_ entries: [(name: String, summary: String)]) {
    let width = entries.map(\.name.count).max() ?? 0
    for entry in entries {
      let padding = String(repeating: " ", count: width - entry.name.count)
      print("\(entry.name)\(padding)  \(entry.summary)")
    }
  }

  private static func run(_ subcommand: any Subcommand) {
    do {
      try subcommand.run()
    } catch {
      standardError("crash-lab: \(error)\n")
      exit(EX_SOFTWARE)
    }
  }

  /// Starts the handler; exits if that fails.
  @discardableResult
  static func start(
    _ database: String, _ options: HandlerOptions = HandlerOptions()
  ) -> Handler {
    // An executable with another name acts as the product of that name.
    let name = CommandLine.arguments[0].split(separator: "/").last ?? ""
    do {
      return try startHandler(
        database: database, product: name == "crash-lab" ? "CrashLab" : String(name),
        version: "1.0", environment: "test", annotations: ["purpose": "crash"], options: options)
    } catch {
      // The filter may end a process that writes.
      if unsafe getenv("CRASHLAB_FILTER") == nil { standardError("crash-lab: \(error)\n") }
      _exit(EX_CANTCREAT)
    }
  }
}
