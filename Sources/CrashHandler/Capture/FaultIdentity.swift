internal import CSignalSafe

/// Which fault it was: the same instruction of the same thread, at the same depth and address.
///
/// RUNS-DURING-CRASH.
struct FaultIdentity {
  private let signal: Int32
  private let threadID: Int32
  private let instructionPointer: UInt64
  private let stackPointer: UInt64
  private let address: UInt64

  /// None: equal to nothing.
  @_noLocks
  init() {
    signal = 0
    threadID = 0
    instructionPointer = 0
    stackPointer = 0
    address = 0
  }

  /// That of the crash that is being captured; none for a signal that was sent, each of which is
  /// one of its own.
  @_noLocks
  init(_ capture: Capture) {
    self.init()
    let exception = capture.session.exception
    guard exception.signal.isFault, let information = exception.signal.information,
      let context = exception.signal.context
    else { return }
    self.init(
      signal: exception.signal.number, threadID: exception.threadID,
      instructionPointer: context.instructionPointer, stackPointer: context.stackPointer,
      address: information.faultAddress)
  }

  @_noLocks
  private init(
    signal: Int32, threadID: Int32, instructionPointer: UInt64, stackPointer: UInt64,
    address: UInt64
  ) {
    self.signal = signal
    self.threadID = threadID
    self.instructionPointer = instructionPointer
    self.stackPointer = stackPointer
    self.address = address
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
