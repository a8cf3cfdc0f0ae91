/// The crash that a dump is of; of a dump without one, the thread in question and where it called.
///
/// RUNS-DURING-CRASH.
struct CapturedException {
  var signal = DeliveredSignal(context: nil)
  var threadID: Int32 = 0
  var entryTime: UInt64 = 0
  var fate = CrashFate.ends
  /// Whether Swift's backtracer runs after this crash.
  var isBacktraced = false
  /// True for a fault that has come again.
  var isRepetition = false
  /// The number of the fault; 0 for none.
  var faultNumber: UInt32 = 0
  /// Where the byte is in the dump that says what became of the process; 0 where there is none.
  var outcomeOffset: Int64 = 0

  @_noLocks
  init() {}
}
