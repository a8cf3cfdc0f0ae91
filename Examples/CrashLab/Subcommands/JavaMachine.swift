internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A program with a Java virtual machine, which uses faults for null checks and stack overflows; the class
/// `Play` has the scenes.
struct JavaMachine: Subcommand {
  private enum Order: String, CaseIterable {
    /// Starts the virtual machine, then the handler, and sets a first-chance handler: Docs/Reference/Handler.md.
    case machineFirst = "machine-first"
    /// The same, but no first-chance handler is called before a crash is captured.
    case machineFirstUnasked = "machine-first-unasked"
    case handlerFirst = "handler-first"
  }

  private let scene: String
  private let order: Order
  private let library: String
  private let directory: String
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "ORDER", "LIBRARY", "DIRECTORY")
    scene = words[0]
    order = try Arguments.choice(words[1])
    library = words[2]
    directory = words[3]
    database = try arguments.databaseOfHandler
  }

  func run() {
    if order == .handlerFirst { startHandler() }
    unsafe crashlab_make_java_machine(library, directory)
    if order != .handlerFirst { startHandler() }
    if order == .machineFirst && database != nil {
      unsafe setFirstChanceHandler(crashlab_java_first_chance())
    }
    unsafe crashlab_run_java(scene)
    standardError("\(crashlab_java_faults()) faults were Java's\n")
    exit(0)
  }

  private func startHandler() {
    guard let database else { return }
    var options = HandlerOptions()
    options.signals.remove(.quit)
    CrashLab.start(database, options)
  }
}
