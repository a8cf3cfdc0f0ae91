internal import IntermediateDump

/// The crash that a dump describes or, in a dump without a crash, the thread that comes first in the report.
///
/// RUNS-DURING-CRASH.
struct CapturedException {
  var signal = DeliveredSignal(context: nil)
  var threadID: Int32 = 0
  var entryTime: UInt64 = 0
  /// The time of the crash, and the time from boot to the crash, in nanoseconds; 0 until the dump begins, or if unknown.
  var (time, uptime) = (UInt64(0), UInt64(0))
  /// The kernel's page-map entry for the page of the fault; 0 if there is none or it is not known.
  var faultPage: UInt64 = 0
  /// The number of bytes of each of the two messages in `CrashSummary.messages`.
  var messageSizes = (first: 0, second: 0)
  var outcome = CrashOutcome.ends
  /// Whether Swift's backtracer runs after this crash.
  var isBacktraced = false
  /// True if this fault is the same as the thread's last fault, after which the previous handler returned
  /// (`KnownFaults`).
  var isRepetition = false
  /// The number of the fault in `KnownFaults`; 0 if there is none.
  var faultNumber: UInt32 = 0
  /// The offset, in the dump, of the byte that says what followed the crash (`survivalOutcome`); 0 if there is no dump,
  /// or the dump has no such byte.
  var outcomeOffset: Int64 = 0

  @_noLocks
  init() {}

  /// True if the handler is prepared for the next crash immediately after the dump (`rearm`).
  ///
  /// This is the case if the process may continue and Swift's backtracer does not run first.
  var rearmsAtOnce: Bool { @_noLocks get { !outcome.isEnd && !isBacktraced } }
}

/// The outcome of a crash: how the process ends or continues after the dump.
///
/// RUNS-DURING-CRASH.
enum CrashOutcome {
  /// The default action ends the process.
  case ends
  /// The handler that had been installed before this package's handler runs next, and decides whether the process
  /// survives.
  case handled
  /// The kernel would have discarded the signal, because it was sent to the first process of a PID namespace.
  case discarded
  /// A handler that was installed later called this package's handler, and there is no previous handler.
  ///
  /// The default action is taken if the other handler returns to the crashed instruction.
  case delegated

  /// The number that stands for this outcome in a dump's `survivalOutcome`.
  var number: UInt64 {
    @_noLocks get {
      switch self {
      case .ends: SurvivalOutcome.endedCode
      case .handled, .delegated: SurvivalOutcome.previousHandlerRan.code
      case .discarded: SurvivalOutcome.discarded.code
      }
    }
  }

  var isEnd: Bool {
    @_noLocks get {
      if case .ends = self { true } else { false }
    }
  }
}
