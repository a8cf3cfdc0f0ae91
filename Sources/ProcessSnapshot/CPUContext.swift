/// The registers of one thread.
public enum CPUContext: Sendable, Equatable {
  case x86_64(X86_64Context)
  case arm64(ARM64Context)

  public var instructionPointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rip)
    case .arm64(let context): Address(context.pc)
    }
  }

  public var stackPointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rsp)
    case .arm64(let context): Address(context.sp)
    }
  }

  public var framePointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rbp)
    case .arm64(let context): Address(context.x[29])
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
