/// The crash of a dump; of a dump without one, the thread in question and its call.
///
/// RUNS-DURING-CRASH.
struct CapturedException {
  var signal = DeliveredSignal(context: nil)
  var threadID: Int32 = 0
  var entryTime: UInt64 = 0
  var outcome = CrashOutcome.ends
  /// Whether Swift's backtracer runs after this crash.
  var isBacktraced = false
  /// True for a fault that has come again.
  var isRepetition = false
  /// The number of the fault; 0 for none.
  var faultNumber: UInt32 = 0
  /// Offset in the dump of the byte that tells the end of the process; 0 where there is none.
  var outcomeOffset: Int64 = 0

  @_noLocks
  init() {}

  /// True where the process may continue after the dump, and is made ready for the next crash at once.
  var mayLiveOn: Bool { @_noLocks get { !outcome.isEnd && !isBacktraced } }
}
