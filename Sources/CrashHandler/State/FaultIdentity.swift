/// The data by which a repeated fault is recognized: its signal, instruction, thread, stack pointer and fault
/// address.
///
/// RUNS-DURING-CRASH.
struct FaultIdentity {
  private var signal: Int32 = 0
  private var threadID: Int32 = 0
  private var instructionPointer: UInt64 = 0
  private var stackPointer: UInt64 = 0
  private var address: UInt64 = 0

  /// Identifies the fault that is being captured.
  ///
  /// For a signal that was sent, the identity stands for "no fault" (`isNone`), and `isEqual` is always false.
  @_noLocks
  init(_ exception: CapturedException) {
    guard exception.signal.isFault, let information = exception.signal.information,
      let context = exception.signal.context
    else { return }
    signal = exception.signal.number
    threadID = exception.threadID
    instructionPointer = context.instructionPointer
    stackPointer = context.stackPointer
    address = information.faultAddress
  }

  var isNone: Bool { @_noLocks get { signal == 0 } }

  @_noLocks
  func isOfThread(of other: FaultIdentity) -> Bool { threadID == other.threadID }

  @_noLocks
  func isEqual(to other: FaultIdentity) -> Bool {
    signal != 0 && signal == other.signal && threadID == other.threadID
      && instructionPointer == other.instructionPointer && stackPointer == other.stackPointer
      && address == other.address
  }
}
