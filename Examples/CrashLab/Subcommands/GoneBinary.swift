internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A crash after the server of the executable's file system has ended: pages not read before can no longer be read.
///
/// Requires root.
struct GoneBinary: Subcommand {
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.words()
    database = arguments.has("--no-handler") ? nil : try arguments.database
  }

  func run() {
    guard unsafe getenv("CRASHLAB_SERVER") != nil else {
      _ = unsafe crashlab_run_served("/proc/self/exe", CommandLine.unsafeArgv)
      return
    }
    if let database { _ = CrashLab.start(database, HandlerOptions()) }
    var nothing = 0
    crashlab_end_server()
    unsafe crash_with_registers(&nothing, &nothing)
  }
}
