internal import CSignalSafe
internal import IntermediateDump

/// Why a dump is taken, and how.
///
/// The default values are those for a crash.
///
/// RUNS-DURING-CRASH; the code that requests the dump sets the values.
@safe
struct DumpRequest {
  /// The kind of caller that requested the dump; nil for a crash.
  var kind: RequestKind?
  /// The other threads that get a stop signal.
  var stops = StopChoice.all
  /// True if the file is renamed when the dump is finished; false for a file at a path that the program chose.
  var isRenamed = true
  /// The encoded tokens of the dump's reason, which `write` puts into the `dumpRequest` map.
  var details: Bytes?
  /// The encoded annotations for this dump only, and the encoded list of all tasks; written after the `dumpRequest`
  /// map.
  var annotations: Bytes?
  /// The number by which `postmortem capture` recognizes the dump that it requested; 0 for any other dump.
  var number: UInt32 = 0
  /// The kind of target that hung, and the target's name, in memory that is freed with the dump's session.
  var target = HangTarget.mainThread
  var name: UnsafeRawPointer?
  var nameCount = 0
  /// The time after which the target counts as hung, and how long it has hung, both in nanoseconds.
  var threshold: UInt64 = 0
  var time: UInt64 = 0
  /// The CPU time, in nanoseconds, that the thread that last answered the hang monitor has used during the hang;
  /// `UInt64.max` if it is not known.
  var processorTime = UInt64.max
  var threadEvidence = HangThreadEvidence.none
  /// The offsets, in the dump's file, of `time` and `processorTime`; 0 if the file does not contain them.
  var timeOffset: Int64 = 0
  var processorTimeOffset: Int64 = 0

  @_noLocks
  init() {}

  var isCrash: Bool {
    @_noLocks get {
      if case .none = kind { true } else { false }
    }
  }

  var isHang: Bool {
    @_noLocks get {
      if case .some(.hang) = kind { true } else { false }
    }
  }

  var isFromTool: Bool {
    @_noLocks get {
      if case .some(.tool) = kind { true } else { false }
    }
  }

  var stopsThreads: Bool {
    @_noLocks get {
      if case .none = stops { false } else { true }
    }
  }

  /// Writes the `dumpRequest` map and the dump's annotations; writes nothing for a crash.
  ///
  /// - Parameter withTexts: true to also write texts that come from the program.
  @_noLocks
  mutating func write(withTexts: Bool, to writer: inout IntermediateDumpWriter) {
    guard let kind else { return }
    writer.startMap(.dumpRequest)
    writer.unsigned(.requestKind, kind.code, width: 1)
    if withTexts, let details { writer.encoded(details) }
    if isHang {
      writer.unsigned(.hangTarget, target.code, width: 1)
      if withTexts { unsafe writer.property(.hangName, name, count: nameCount) }
      writer.unsigned(.hangThreshold, threshold)
      writer.unsigned(.hangTime, time)
      timeOffset = Int64(truncatingIfNeeded: writer.size &- 8)
      if processorTime != UInt64.max {
        writer.unsigned(.hangProcessorTime, processorTime)
        processorTimeOffset = Int64(truncatingIfNeeded: writer.size &- 8)
      }
      writer.unsigned(.hangThreadEvidence, threadEvidence.code, width: 1)
    }
    writer.end()
    if withTexts, let annotations { writer.encoded(annotations) }
  }
}

/// Which threads are stopped during a dump; all other threads are read while they run or wait.
///
/// RUNS-DURING-CRASH.
enum StopChoice {
  /// Stops no threads, because a program that continues must not get an unexpected EINTR.
  case none
  case all
  /// Stops all running threads, because any of them may hold what others wait for.
  ///
  /// To stop a running thread causes no EINTR, because the thread does not wait in a system call. A waiting thread need
  /// not be stopped, because the kernel shows its stack pointer and instruction pointer.
  case running
}
