internal import ProcessSnapshot

/// What unwinding must know of one architecture's registers, by DWARF number.
struct RegisterMap: Sendable {
  /// Numbers from 0 that are tracked; higher ones are vector registers and the like.
  var count: Int
  var framePointer: Int
  var stackPointer: Int
  var programCounter: Int
  /// Holds the return address in a function that has not saved it; nil where calls push it.
  var linkRegister: Int?
  /// Holds an asynchronous function's frame when it begins; by its convention, and Swift's alone.
  var asyncContext: Int
  /// Bit n is set for a register that a called function leaves as it was.
  var preserved: UInt64
  /// Bytes from the stack pointer at the return of a signal handler to each interrupted register.
  var signalFrameOffsets: [UInt64]
  /// The code that a signal handler returns to: rt_sigreturn.
  var signalTrampoline: [UInt8]

  init(_ architecture: ProcessSnapshot.Architecture) {
    switch architecture {
    case .x86_64: self = .x86_64
    case .arm64: self = .arm64
    }
  }

  init(
    count: Int, framePointer: Int, stackPointer: Int, programCounter: Int, linkRegister: Int?,
    asyncContext: Int, preserved: UInt64, signalFrameOffsets: [UInt64], signalTrampoline: [UInt8]
  ) {
    self.count = count
    self.framePointer = framePointer
    self.stackPointer = stackPointer
    self.programCounter = programCounter
    self.linkRegister = linkRegister
    self.asyncContext = asyncContext
    self.preserved = preserved
    self.signalFrameOffsets = signalFrameOffsets
    self.signalTrampoline = signalTrampoline
  }

  func isPreserved(_ register: Int) -> Bool {
    register < 64 && preserved & 1 << UInt64(register) != 0
  }
}
