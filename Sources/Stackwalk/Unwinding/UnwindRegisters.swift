internal import ProcessSnapshot

/// The registers of one frame by DWARF number; nil where a method could not tell.
///
/// Source: System V ABI AMD64 supplement, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1.
struct UnwindRegisters {
  private var values: [UInt64?]
  let architecture: ProcessSnapshot.Architecture

  private var numbers: (framePointer: Int, stackPointer: Int, programCounter: Int) {
    switch architecture {
    case .x86_64: (6, 7, 16)
    case .arm64: (29, 31, 32)
    }
  }

  init(architecture: ProcessSnapshot.Architecture) {
    self.architecture = architecture
    values = Array(repeating: nil, count: 33)
  }

  init(_ context: CPUContext) {
    switch context {
    case .x86_64(let x86):
      self.init(architecture: .x86_64)
      let inOrder = [
        x86.rax, x86.rdx, x86.rcx, x86.rbx, x86.rsi, x86.rdi, x86.rbp, x86.rsp, x86.r8, x86.r9,
        x86.r10, x86.r11, x86.r12, x86.r13, x86.r14, x86.r15, x86.rip,
      ]
      for (number, value) in inOrder.enumerated() { values[number] = value }
    case .arm64(let arm):
      self.init(architecture: .arm64)
      for (number, value) in arm.x.prefix(31).enumerated() { values[number] = value }
      values[31] = arm.sp
      values[32] = arm.pc
    }
  }

  var programCounter: UInt64? {
    get { values[numbers.programCounter] }
    set { values[numbers.programCounter] = newValue }
  }

  var stackPointer: UInt64? {
    get { values[numbers.stackPointer] }
    set { values[numbers.stackPointer] = newValue }
  }

  var framePointer: UInt64? {
    get { values[numbers.framePointer] }
    set { values[numbers.framePointer] = newValue }
  }

  /// The arm64 link register; nil on x86_64.
  var linkRegister: UInt64? {
    get { architecture == .arm64 ? values[30] : nil }
    set { if architecture == .arm64 { values[30] = newValue } }
  }

  /// The registers of a caller of which a method learned these three; all others are unknown.
  func caller(
    programCounter: UInt64, stackPointer: UInt64?, framePointer: UInt64?
  ) -> UnwindRegisters {
    var caller = UnwindRegisters(architecture: architecture)
    caller.programCounter = programCounter
    caller.stackPointer = stackPointer
    caller.framePointer = framePointer
    return caller
  }
}
