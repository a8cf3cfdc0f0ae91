/// A command of crash-lab other than a kind of crash, selected by the first word of the command line.
protocol Subcommand: Sendable {
  init(_ arguments: Arguments) throws(UsageError)

  /// Runs the subcommand; if this returns, the process exits with 0.
  func run() throws
}

extension Command {
  static let subcommands: [String: any Subcommand.Type] = [
    "chain": ChainScene.self,
    "data-race": DataRace.self,
    "end": End.self,
    "forked": Probe.self,
    "forked-in-flight": InFlight.self,
    "functions": FunctionComparison.self,
    "gone-binary": GoneBinary.self,
    "hang": Hang.self,
    "idle": Probe.self,
    "in-flight": InFlight.self,
    "java": JavaMachine.self,
    "library": LibraryCrash.self,
    "live-dump": LiveDump.self,
    "locks": Locks.self,
    "near-memory-limit": NearMemoryLimit.self,
    "objects": ObjectScene.self,
    "process": Processing.self,
    "process-itself": ProcessingItself.self,
    "secrets": SecretScene.self,
    "sequence": SequenceScene.self,
    "served-memory": ServedMemory.self,
    "start-again": Probe.self,
    "status": Probe.self,
    "status-closed": Probe.self,
    "status-of-many": Probe.self,
    "storm": Storm.self,
    "tasks": Tasks.self,
    "tell": Telling.self,
    "threads-made": ThreadsMade.self,
    "truth": TruthScene.self,
    "use": UseScene.self,
    "work": Working.self,
  ]
}
