internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A program that can die in many ways, each by name, so that what a handler leaves behind can be checked.
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
    case .process(let database, let storingSymbols):
      process(database, storingSymbols: storingSymbols)
    case .probe(let probe, let database): run(probe, database)
    case .chain(let scene, let database): chain(scene, database)
    case .tell(let telling): telling.run()
    case .library(let crash):
      try crash.run()
      exit(Command.survived)
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

  private static func start(_ database: String, _ options: HandlerOptions = HandlerOptions()) {
    do {
      try startHandler(
        database: database, product: "CrashLab", version: "1.0", environment: "test",
        annotations: ["purpose": "crash"], options: options)
    } catch {
      standardError("crash-lab: \(error)\n")
      exit(EX_CANTCREAT)
    }
  }

  private static func chain(_ scene: String, _ database: String?) {
    guard unsafe crashlab_prepare_scene(scene) else {
      standardError("crash-lab: unknown scene \(scene)\n")
      exit(EX_USAGE)
    }
    if let database { start(database) }
    if scene.hasPrefix("first-chance") { unsafe setFirstChanceHandler(crashlab_first_chance()) }
    unsafe crashlab_run_scene(scene)
    exit(0)
  }

  private static func process(_ database: String, storingSymbols: Bool) {
    do {
      let processed = try processIntermediateDumps(
        database: database, storingSymbols: storingSymbols)
      for dump in processed { print(dump) }
    } catch {
      standardError("crash-lab: \(error)\n")
      exit(EX_IOERR)
    }
  }

  private static func run(_ probe: Probe, _ database: String) {
    start(database)
    do {
      try probe.run(database: database)
    } catch {
      standardError("crash-lab: \(error)\n")
      exit(EX_SOFTWARE)
    }
  }
}

func standardError(_ text: String) {
  var text = text
  text.withUTF8 { bytes in _ = unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
}
