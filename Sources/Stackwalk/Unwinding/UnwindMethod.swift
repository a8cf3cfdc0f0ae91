internal import ProcessSnapshot

/// Where a walk stands: the registers of one frame and how they were had.
struct UnwindState {
  var registers: UnwindRegisters
  var trust: FrameTrust
  /// False for a frame that was interrupted and not left by a call.
  var isReturnAddress: Bool

  /// The address to look up: inside the call for a return address, since a call that never returns
  /// may be its function's last instruction.
  var lookupAddress: Address? {
    registers.programCounter.map { isReturnAddress ? $0.clampedSubtracting(1) : $0 }
  }
}

/// What a method says of a frame's caller.
enum UnwindStep {
  case caller(UnwindState)
  /// There is no caller: this is the thread's first function.
  case bottom
  /// Another method may know.
  case unknown
}

/// One way to get from a frame to its caller; the walk asks its methods in order of trust.
protocol UnwindMethod {
  /// Must not trap on any contents of memory, and must answer in bounded time.
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep
}
