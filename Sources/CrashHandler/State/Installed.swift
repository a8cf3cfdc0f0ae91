internal import CSignalSafe

/// State that is decided and allocated at launch and never changes afterward.
///
/// RUNS-DURING-CRASH: crash code reads this state, which `HandlerInstaller` creates.
@safe
struct Installed: ~Copyable {
  let limits: CaptureLimits
  /// True if `HandlerOptions.privacy` is not `full`, so that dumps leave out data that may be private.
  let isSanitized: Bool
  /// The time limit of a dump, in milliseconds.
  let timeLimit: Int
  /// The maximum time, in milliseconds, that a thread waits for another thread's capture to end.
  ///
  /// The maximum is three times the time limit of a dump, but at least 10 seconds. The wait starts again with each
  /// watchdog tick of the capture (`WaitingBound`).
  var longestWaitMilliseconds: Int {
    @_noLocks get {
      let (limits, overflow) = timeLimit.multipliedReportingOverflow(by: 3)
      return overflow ? .max : limits > 10_000 ? limits : 10_000
    }
  }
  /// The bits of `SystemCalls` for the groups of system calls that the handler must not make in a crash.
  let forgone: UInt32
  let paths: Paths
  var signals: InstalledSignals
  /// Whether the handler hooks the Swift runtime to record where errors are thrown.
  let recordsThrows: Bool
  /// Whether the process takes a dump when `postmortem capture` sends it a `CaptureRequest`.
  let takesRequests: Bool
  /// The address range of the arguments, the environment and the auxiliary vector, up to the end of the mapping of the
  /// main thread's stack.
  ///
  /// It starts at the main thread's stack pointer at the start of the program: the number of arguments is at this
  /// address, and all frames of the main thread are below it. The address is 0 if the kernel does not show it.
  let environment: AddressRange
  let runtime: RuntimePlaces
  let images: ImagePlaces
  let cgroup: CgroupFiles
  let surroundings: KnownSurroundings
  let encoded: EncodedFacts
  /// The stack for faults inside the handler.
  let faultStack: FaultStack
  let summary: CrashSummary
  /// The user and group that become the owners of files created in a crash; 0 unless root uses another user's
  /// database.
  let filesOwner: (UInt32, UInt32)
  /// Whether the handler maps the run records that it creates after launch; see `RecordMapping`.
  let mapsRecords: Bool
  /// True if the database's file system was seen to change the number of an inode; see `HeldFile.twin`.
  let changesInodes: Bool

  /// The absolute paths of the database and of its directory for pending dumps, NUL-terminated.
  @safe
  struct Paths {
    let database: UnsafePointer<CChar>
    let directory: UnsafePointer<CChar>
  }

  @safe
  struct FaultStack {
    let base: UnsafeMutableRawPointer
    let size: Int

    /// Makes this stack the calling thread's alternate stack; returns false if the kernel refuses three times.
    @_noLocks
    func use() -> Bool {
      for _ in Indices(3) {
        if unsafe pm_set_signal_stack(base, size) == 0 { return true }
      }
      return false
    }
  }

  /// The addresses of the ELF images that are known at launch, and of the dynamic linker's list of images.
  @safe
  struct ImagePlaces {
    let known: pm_image_places
    /// The program's path; used if the program's mappings show no path.
    let programPath: Bytes
    /// The page size of the system in bytes; never 0.
    let pageSize: UInt64
  }

  /// The addresses at which the handler finds the data that a dump needs from libraries.
  struct RuntimePlaces {
    /// The addresses of the Swift runtime's pointer to its last fatal message, and of glibc's pointer to its last
    /// abort message.
    let fatalMessageBuffer: UInt64
    let abortMessagePointer: UInt64
    /// Facts that locate a thread's task, and its C++ exceptions, in thread-local memory.
    let tasks: pm_task_facts
    let exceptions: pm_exception_facts
    /// The address and size of the code of abort(); the size is 0 if it is not known.
    let abortStart: UInt64
    let abortSize: UInt64
  }

  /// The facts for the surroundings section that are known at launch.
  struct KnownSurroundings {
    /// Whether facts that may identify a person are left out, because of `HandlerOptions.capturesSurroundings` or
    /// `HandlerOptions.privacy`.
    let isHidden: Bool
    /// True if a dump may show whether the process is in a container, and the cgroup does not already show that.
    let mayBeContainer: Bool
  }

  /// Tokens that were encoded at launch.
  ///
  /// The tokens are the first `process` map, that of a log, the run record's `RunCourse`, the `system` map and the
  /// annotations.
  struct EncodedFacts {
    let process: Bytes
    /// The tokens of the `process` map in a log.
    let logged: Bytes
    /// The tokens of the run record's `RunCourse`; empty if there will be no report on how the process ends.
    let course: Bytes
    let system: Bytes
  }
}

/// Open files of the process's cgroups; none if the process has no cgroup.
///
/// The files are opened when the handler starts, because their paths may be unreachable in a crash. A forked child
/// inherits the descriptors.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// The file `memory.stat`; not open if the cgroup had no memory limit at launch.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
