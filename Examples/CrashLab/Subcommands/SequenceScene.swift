internal import CCrashLab
internal import Glibc
internal import Postmortem

/// Threads with restartable sequences (rseq), which are in `C/sequences.c`.
struct SequenceScene: Subcommand {
  private enum Scene: String, CaseIterable {
    /// The fault is inside a sequence, whose abort handler continues the program.
    case inside
    /// The fault is after a sequence that the thread has left, but that is still registered with the kernel.
    case after
    /// Checks that threads are still registered after a dump has stopped them.
    case dump
  }

  private let scene: Scene
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    scene = try Arguments.choice(try arguments.words("SCENE")[0])
    database = try arguments.databaseOfHandler
  }

  func run() throws {
    let other = EarlierThread(stackSize: nil, isWorker: false)
    let handler = database.map { CrashLab.start($0) }
    switch scene {
    case .inside:
      crash_in_sequence()
      print("went on")
      exit(Command.survived)
    case .after: crash_after_sequence()
    case .dump:
      try handler?.dumpWithoutCrash(stopsThreads: true)
      print(crashlab_has_sequences())
      other.run { print(crashlab_has_sequences()) }
    }
  }
}
