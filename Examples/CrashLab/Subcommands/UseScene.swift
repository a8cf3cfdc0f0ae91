internal import CCrashLab
internal import Dispatch
internal import Glibc
internal import Postmortem

/// A program that uses signals, threads and processes as it may, and prints what it sees.
///
/// `C/uses` has the scenes in C; those with Dispatch and Swift concurrency are in `DispatchUse`.
struct UseScene: Subcommand {
  private let scene: String
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    scene = try arguments.words("SCENE")[0]
    database = try arguments.databaseOfHandler
  }

  func run() throws {
    if scene == "list" {
      crashlab_list_uses()
      for use in DispatchUse.allCases { say(use.rawValue) }
      return
    }
    let use = DispatchUse(rawValue: scene)
    use?.prepare()
    guard unsafe use != nil || crashlab_prepare_use(scene) else {
      standardError("crash-lab: unknown scene \(scene)\n")
      exit(EX_USAGE)
    }
    // The threads of this package must leave the signals of such a program alone, too.
    let hasHeartbeats = scene.hasPrefix("dumps-profiling")
    try Self.startUnlessDisabled(database, heartbeats: hasHeartbeats ? .milliseconds(100) : nil)
    crashlab_set_dump { stopsThreads in
      _ = try? Handler.current?.dumpWithoutCrash(stopsThreads: stopsThreads)
    }
    if let use {
      use.run()
    } else {
      unsafe crashlab_run_use(scene)
    }
    exit(0)
  }

  /// Starts the handler, unless there is to be none, or `POSTMORTEM_DISABLE` is set.
  static func startUnlessDisabled(_ database: String?, heartbeats: Duration? = nil) throws {
    guard let database else { return }
    var options = HandlerOptions()
    options.writesSummary = false
    options.heartbeatInterval = heartbeats
    do {
      try startHandler(database: database, options: options)
    } catch {
      // The program goes on without the handler.
      guard error.code == .disabled else { throw error }
    }
  }
}
