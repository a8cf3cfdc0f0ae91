/// The registers of one thread.
public enum CPUContext: Sendable, Equatable {
  case x86_64(X86_64Context)
  case arm64(ARM64Context)

  public var instructionPointer: UInt64 {
    switch self {
    case .x86_64(let context): context.rip
    case .arm64(let context): context.pc
    }
  }

  public var stackPointer: UInt64 {
    switch self {
    case .x86_64(let context): context.rsp
    case .arm64(let context): context.sp
    }
  }

  public var framePointer: UInt64 {
    switch self {
    case .x86_64(let context): context.rbp
    case .arm64(let context): context.x[29]
    }
  }

  /// The general registers by their usual names, in the order in which debuggers print them.
  public var generalRegisters: [(name: String, value: UInt64)] {
    switch self {
    case .x86_64(let context): context.generalRegisters
    case .arm64(let context): context.generalRegisters
    }
  }
}
