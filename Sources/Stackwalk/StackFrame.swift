public import ProcessSnapshot

/// One call on a thread's stack.
public struct StackFrame: Sendable, Equatable {
  /// The address that execution is at or will return to.
  public var address: Address
  /// True if `address` is where a call returns to, so that the call itself lies before it.
  public var isReturnAddress: Bool
  public var trust: FrameTrust
  /// The stack pointer in this frame; nil if it is not known.
  public var stackPointer: Address?
  /// An index into the snapshot's `modules`; nil for an address outside all of them.
  public var moduleIndex: Int?
  /// The function, where a symbol table or debug information names it.
  public var symbol: FrameSymbol?
  /// The line, where debug information tells: of the instruction for the innermost frame at an
  /// address, else of the call.
  public var sourceLocation: SourceLocation?
  /// True if this call was inlined into the next frame, with which it shares address and stack.
  public var isInlined = false
  /// True if names and lines were stored with the report and not read from the module's file.
  public var isStored = false

  /// The address to look up: inside the call instruction for a return address, since the
  /// instruction behind the call may belong to another line or, after a call that never returns, to
  /// another function.
  public var lookupAddress: Address {
    isReturnAddress ? address.clampedSubtracting(1) : address
  }

  public init(
    address: Address, isReturnAddress: Bool, trust: FrameTrust, stackPointer: Address? = nil,
    moduleIndex: Int? = nil, symbol: FrameSymbol? = nil
  ) {
    self.address = address
    self.isReturnAddress = isReturnAddress
    self.trust = trust
    self.stackPointer = stackPointer
    self.moduleIndex = moduleIndex
    self.symbol = symbol
  }
}

/// The function that a frame is in.
public struct FrameSymbol: Sendable, Equatable {
  /// The name in the symbol table.
  public var linkageName: String
  /// Demangled, where it is a Swift or C++ name; otherwise the linkage name.
  public var name: String
  /// Bytes from the function's start to the frame's address; nil for an inlined function.
  public var offset: UInt64?

  public init(linkageName: String, name: String, offset: UInt64?) {
    self.linkageName = linkageName
    self.name = name
    self.offset = offset
  }
}
