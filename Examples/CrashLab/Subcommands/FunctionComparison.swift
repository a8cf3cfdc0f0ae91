internal import CCrashLab
internal import Glibc

/// Calls the functions that this package defines in front of libc's, or libc's own, and prints what they do.
///
/// `C/functions` has the calls.
struct FunctionComparison: Subcommand {
  private let whose: String
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    whose = try arguments.words("own|libc")[0]
    database = try arguments.databaseOfHandler
  }

  func run() throws {
    try UseScene.startUnlessDisabled(database)
    guard unsafe crashlab_compare_functions(whose) else {
      standardError("crash-lab: not own or libc: \(whose)\n")
      exit(EX_USAGE)
    }
  }
}
