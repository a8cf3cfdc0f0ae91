internal import CCrashLab
internal import Glibc

/// A program that blocks crash signals; `C/masks.c` has the scenes.
struct MaskScene: Subcommand {
  private let scene: String
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    scene = try arguments.words("SCENE")[0]
    database = try arguments.databaseOfHandler
  }

  func run() {
    if let database { CrashLab.start(database) }
    guard unsafe crashlab_play_masks(scene) else {
      standardError("crash-lab: unknown scene \(scene)\n")
      exit(EX_USAGE)
    }
    exit(0)
  }
}
