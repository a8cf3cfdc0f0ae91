internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A crash, or a dump without one, of a process with memory whose pages one of its threads supplies.
///
/// A thread that reads such a page waits for the supplying thread, which the handler has stopped.
struct ServedMemory: Subcommand {
  private enum Server: String, CaseIterable {
    /// userfaultfd, for pages that are missing.
    case missing
    /// userfaultfd, for pages of shared memory that are not in the page table yet (minor faults).
    case minor
    /// userfaultfd, whose events no thread reads.
    case unserved
    /// A FUSE file system.
    case fuse
    /// A FUSE file system that is no longer in the list of mounts.
    case detached = "fuse-detached"
    /// A FUSE file system on a block device.
    case onDevice = "fuse-block"

    var number: Int {
      switch self {
      case .missing: CRASHLAB_MISSING_PAGES
      case .minor: CRASHLAB_MINOR_FAULTS
      case .unserved: CRASHLAB_UNSERVED_PAGES
      case .fuse: CRASHLAB_FILE
      case .detached: CRASHLAB_DETACHED_FILE
      case .onDevice: CRASHLAB_FILE_ON_DEVICE
      }
    }
  }

  /// The use of the supplied memory.
  private enum Place: String, CaseIterable {
    /// A register of the crashing thread points there.
    case register
    /// It is the crashing thread's stack.
    case stack
    /// It is another thread's stack.
    case otherStack = "other-stack"
    /// It is a range that the program added with `ExtraMemory`.
    case memory
    /// The same, in a dump without a crash that stops the threads.
    case live
    /// The same, in a process that waits for `postmortem capture`.
    case idle
  }

  private static let size = 1 << 20

  private let server: Server
  private let place: Place
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SERVER", "PLACE")
    server = try Arguments.choice(words[0])
    place = try Arguments.choice(words[1])
    database = try arguments.database
  }

  func run() throws {
    // Done before another thread starts, because a file system is mounted in a new mount namespace.
    let served = unsafe crashlab_served_memory(Int32(server.number), Self.size)
    let handler = CrashLab.start(database, HandlerOptions())
    // Known memory, which must be in the dump even if the supplied memory is missing.
    let known = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 4096)
    for index in 0..<known.count { unsafe known[index] = 0x5A }
    if place != .register {
      unsafe ExtraMemory.add(UnsafeRawBufferPointer(start: served, count: 65536))
      unsafe ExtraMemory.add(UnsafeRawBufferPointer(known))
    }
    print(UInt(bitPattern: known.baseAddress))
    fflush(nil)
    let crash: @convention(c) (UnsafeMutableRawPointer?) -> Void = { known in
      guard let known = unsafe known else { return }
      unsafe crash_with_registers(known, known)
    }
    let sleep: @convention(c) (UnsafeMutableRawPointer?) -> Void = { _ in
      unsafe crashlab_name_thread("other")
      while true { pause() }
    }
    switch place {
    case .register, .memory:
      unsafe crash_with_registers(served + Self.size / 2, known.baseAddress!)
    case .stack:
      unsafe crashlab_call_on_stack(served, Self.size, crash, known.baseAddress)
      while true { pause() }
    case .otherStack:
      unsafe crashlab_call_on_stack(served, Self.size, sleep, known.baseAddress)
      usleep(200_000)
      unsafe crash_with_registers(known.baseAddress!, known.baseAddress!)
    case .live:
      try handler.dumpWithoutCrash(stopsThreads: true)
    case .idle:
      while true { pause() }
    }
  }
}
