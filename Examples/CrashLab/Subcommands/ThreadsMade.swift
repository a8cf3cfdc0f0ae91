internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A program that makes as many threads as it can, none of which allocates anything.
struct ThreadsMade: Subcommand {
  private enum Limit: String, CaseIterable {
    case none
    /// RLIMIT_AS of 768 MiB.
    case addressSpace = "address-space"
    /// RLIMIT_DATA of 384 MiB.
    case data
    /// RLIMIT_MEMLOCK of 8 MiB, and all that is mapped from now on is locked.
    case lockedMemory = "locked-memory"
  }

  private let limit: Limit
  private let stackSize: Int
  private let database: String?

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("LIMIT", "KIBIBYTES")
    limit = try Arguments.choice(words[0])
    stackSize = (Int(words[1]) ?? 0) << 10
    database = arguments.has("--no-handler") ? nil : try arguments.database
  }

  func run() {
    // Before the handler starts: its own memory is mapped under the limit too.
    switch limit {
    case .none: break
    case .addressSpace: crashlab_limit_address_space(768 << 20)
    case .data: crashlab_limit_data(384 << 20)
    case .lockedMemory: crashlab_lock_memory(8 << 20)
    }
    let handler = database.map { CrashLab.start($0, HandlerOptions()) }
    let made = crashlab_make_threads(limit == .none ? 100 : 2000, stackSize)
    // Counting takes memory.
    crashlab_unlimit()
    let arenas = crashlab_count_arenas()
    print("threads \(made)")
    print("arenas \(arenas)")
    if let handler { print("status \(handler.status)") }
  }
}
