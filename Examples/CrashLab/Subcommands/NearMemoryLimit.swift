internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A crash, or a dump without one, of a process whose memory cgroup is almost full; requires root.
struct NearMemoryLimit: Subcommand {
  private let kibibytes: Int
  private let threads: Int
  private let isLive: Bool
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("KIBIBYTES", "THREADS", "crash|live")
    kibibytes = Int(words[0]) ?? 0
    threads = Int(words[1]) ?? 0
    isLive = words[2] == "live"
    database = arguments.has("--no-handler") ? nil : try arguments.database
  }

  func run() throws {
    crashlab_enter_memory_cgroup()
    let handler = database.map { CrashLab.start($0, HandlerOptions()) }
    _ = crashlab_make_threads(Int32(threads), 64 << 10)
    crashlab_leave_memory(kibibytes << 10)
    if isLive {
      try handler?.dumpWithoutCrash(stopsThreads: true)
    } else {
      var nothing = 0
      unsafe crash_with_registers(&nothing, &nothing)
    }
  }
}
