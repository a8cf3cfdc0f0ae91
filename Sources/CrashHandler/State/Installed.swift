internal import CSignalSafe

/// State that is decided and allocated at launch and never changes afterward.
///
/// RUNS-DURING-CRASH: read there; made by `HandlerInstaller`.
@safe
struct Installed: ~Copyable {
  let limits: CaptureLimits
  /// Whether secrets are left out of dumps (`HandlerOptions.privacy`).
  let isSanitized: Bool
  /// The time limit of a dump, in milliseconds.
  let timeLimit: Int
  /// The time that a thread waits for another thread's capture, in milliseconds.
  ///
  /// At least three times the time limit of a dump; begins again with each tick of the capture (`WaitingBound`).
  var patience: Int {
    @_noLocks get {
      let (limits, overflow) = timeLimit.multipliedReportingOverflow(by: 3)
      return overflow ? .max : limits > 10_000 ? limits : 10_000
    }
  }
  /// `SystemCalls` that are not made, as bits.
  let forgone: UInt32
  let paths: Paths
  var signals: InstalledSignals
  /// Whether the handler hooks the Swift runtime to record where errors are thrown.
  let recordsThrows: Bool
  /// Whether a `CaptureRequest` makes the process take a dump.
  let takesRequests: Bool
  /// The range of arguments, environment and auxiliary vector on the main thread's stack.
  let environment: EnvironmentRange
  let runtime: RuntimePlaces
  let images: ImagePlaces
  let cgroup: CgroupFiles
  let surroundings: KnownSurroundings
  let encoded: EncodedFacts
  /// The stack for faults inside the handler.
  let faultStack: FaultStack
  let summary: CrashSummary
  /// The user and group that get the files created in a crash, if root uses the database of another user; 0
  /// otherwise.
  let filesOwner: (UInt32, UInt32)
  /// Whether later run records are mapped too; see `RecordMapping`.
  let mapsRecords: Bool

  /// The database and the directory of pending dumps in it, absolute, NUL-terminated.
  @safe
  struct Paths {
    let database: UnsafePointer<CChar>
    let directory: UnsafePointer<CChar>
  }

  @safe
  struct FaultStack {
    let base: UnsafeMutableRawPointer
    let size: Int

    /// Makes this stack the calling thread's alternate stack; false if the kernel refuses.
    @_noLocks
    func use() -> Bool { unsafe pm_set_signal_stack(base, size) == 0 }
  }

  /// The images that are known at launch, and the address of the dynamic linker's list.
  @safe
  struct ImagePlaces {
    let known: pm_image_places
    /// The program's path, which is used if its mappings have none.
    let programPath: Bytes
    /// The number of bytes of the pages that memory is mapped in, never 0.
    let pageSize: UInt64
  }

  /// The addresses where libraries keep facts for a dump.
  struct RuntimePlaces {
    /// The Swift runtime's pointer to its last fatal message, and glibc's to its last abort message.
    let fatalMessageBuffer: UInt64
    let abortMessagePointer: UInt64
    /// The offsets of each thread's task and C++ exceptions.
    let tasks: pm_task_facts
    let exceptions: pm_exception_facts
    /// The address and size of the code of abort(); the size is 0 if it is not known.
    let abortStart: UInt64
    let abortSize: UInt64
    /// Whether abort(3) unblocks its signal if the thread blocks it.
    let abortOpensItsSignal: Bool
  }

  /// The facts for the surroundings section that are known at launch.
  struct KnownSurroundings {
    /// Whether facts that may identify a person are left out (`HandlerOptions.capturesSurroundings`).
    let isHidden: Bool
    /// True if the tokens that were encoded at launch contain TZ.
    let hasTimeZone: Bool
    /// True if the cgroup does not show whether this is a container, and the dump may contain it.
    let mayBeContainer: Bool
  }

  /// Tokens encoded at launch: the first process map; the course of the run for a run record; system and annotations.
  struct EncodedFacts {
    let process: Bytes
    /// The record of the end; empty if the program turned off reports on how runs end.
    let course: Bytes
    let system: Bytes
  }
}
