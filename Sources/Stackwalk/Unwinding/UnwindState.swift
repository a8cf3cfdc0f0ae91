internal import ProcessSnapshot

/// One frame of a stack walk, with its registers.
struct UnwindState {
  var registers: UnwindRegisters
  var trust: FrameTrust
  /// True if the program counter is a return address; false for a frame that was interrupted.
  var isReturnAddress: Bool
  /// True for the innermost frame of a thread that was in a system call.
  var isInSystemCall = false

  /// The address that is used to look up the function and the line; see `StackFrame.lookupAddress`.
  var lookupAddress: Address? {
    registers.programCounter.map { isReturnAddress ? $0.clampedSubtracting(1) : $0 }
  }

  /// Makes the state of a caller for which only the program counter, the stack pointer and the frame pointer are
  /// known.
  func caller(
    at returnAddress: Address, stackPointer: Address, framePointer: Address?, _ trust: FrameTrust
  ) -> UnwindState {
    var registers = UnwindRegisters(map: registers.map)
    registers.programCounter = returnAddress
    registers.stackPointer = stackPointer
    registers.framePointer = framePointer
    return UnwindState(registers: registers, trust: trust, isReturnAddress: true)
  }
}

/// The result of asking a method for the caller of a frame.
enum UnwindStep {
  case caller(UnwindState)
  /// There is no caller, because the frame belongs to the first function of a thread or of a coroutine.
  case bottom
  /// The method does not know the caller, but another method may.
  case unknown
}

/// A method to find the caller of a frame.
protocol UnwindMethod {
  /// Finds the caller of a frame; must neither trap nor run forever, whatever memory contains.
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep
}

/// The values of registers by DWARF number; nil for a register that no method could find.
struct UnwindRegisters {
  private var values: [UInt64?]
  let map: RegisterMap

  init(map: RegisterMap) {
    self.map = map
    values = Array(repeating: nil, count: map.count)
  }

  init(_ context: CPUContext) {
    switch context {
    case .x86_64(let x86): self.init(x86)
    case .arm64(let arm): self.init(arm)
    }
  }

  /// The value of a register; nil if it is not known, or if the register is not tracked.
  ///
  /// Setting a register that is not tracked does nothing.
  subscript(_ number: Int) -> UInt64? {
    get { values.indices.contains(number) ? values[number] : nil }
    set { if values.indices.contains(number) { values[number] = newValue } }
  }

  var programCounter: Address? {
    get { values[map.programCounter].map { Address($0) } }
    set { values[map.programCounter] = newValue?.value }
  }

  var stackPointer: Address? {
    get { values[map.stackPointer].map { Address($0) } }
    set { values[map.stackPointer] = newValue?.value }
  }

  var framePointer: Address? {
    get { values[map.framePointer].map { Address($0) } }
    set { values[map.framePointer] = newValue?.value }
  }

  /// The arm64 link register; nil on x86_64, or if its value is not known.
  var linkRegister: UInt64? { map.linkRegister.flatMap { values[$0] } }
}
