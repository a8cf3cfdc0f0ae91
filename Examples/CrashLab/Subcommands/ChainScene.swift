internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A program that installed signal handlers before the crash handler; `C/chain.c` has the scenes.
struct ChainScene: Subcommand {
  private let scene: String
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    scene = try arguments.words("SCENE")[0]
    database = try arguments.databaseOfHandler
  }

  func run() {
    guard unsafe crashlab_prepare_scene(scene) else {
      standardError("crash-lab: unknown scene \(scene)\n")
      exit(EX_USAGE)
    }
    if let database { CrashLab.start(database) }
    if scene.hasPrefix("first-chance") { unsafe setFirstChanceHandler(crashlab_first_chance()) }
    unsafe crashlab_run_scene(scene)
    exit(0)
  }
}
