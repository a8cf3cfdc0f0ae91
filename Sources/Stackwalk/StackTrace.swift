public import ProcessSnapshot

/// The frames of one thread, innermost first.
public struct StackTrace: Sendable, Equatable {
  /// The reason why a walk ended.
  public enum End: String, Sendable {
    /// The walk reached the thread's first function.
    case bottom
    /// No method found a plausible caller.
    case lost
    /// The walk reached the limit on frames.
    case limit
    /// The thread has no instruction pointer.
    case noContext
  }

  public var frames: [StackFrame] = []
  /// The number of frames that were walked but are not in `frames`, without calls inlined into them.
  public var omittedCount = 0
  /// The index in `frames` of the first one after the omitted ones.
  public var omittedAfter = 0
  /// True if the walk crossed a part of the stack that the dump left out, with unknown frames.
  public var hasGap = false
  /// The longest recursion on the stack, omitted frames included.
  public var recursion: Recursion?
  public var end: End = .noContext
  /// The callers of the innermost asynchronous function; nil if there are none or their memory is not in the dump.
  public var asyncCalls: AsyncCalls?

  public init() {}
}

/// One call on a thread's stack.
public struct StackFrame: Sendable, Equatable {
  /// The address that execution is at or will return to.
  public var address: Address
  /// True if `address` is a return address, which follows the call.
  public var isReturnAddress: Bool
  public var trust: FrameTrust
  /// The frame's stack pointer; nil if it is not known.
  public var stackPointer: Address?
  /// An index into the snapshot's `modules`; nil for an address outside all of them.
  public var moduleIndex: Int?
  /// The function; nil if it has no name.
  public var symbol: FrameSymbol?
  /// The line of the instruction, or of the call that was inlined; nil without debug information.
  public var sourceLocation: SourceLocation?
  /// True if this call was inlined into the next frame.
  public var isInlined = false
  /// True if names and lines come from the report and not from the module's file.
  public var isStored = false

  /// The address to look up: inside the call for a return address, since the instruction after it
  /// may belong to another line or, after a call that never returns, to another function.
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
  /// Demangled if it is Swift or C++, otherwise the linkage name.
  public var name: String
  /// The number of bytes from the function's start to the address; nil for an inlined function.
  public var offset: UInt64?

  public init(linkageName: String, name: String, offset: UInt64?) {
    self.linkageName = linkageName
    self.name = name
    self.offset = offset
  }
}

/// The method that found a frame, which shows how reliable the frame is; an open set.
public struct FrameTrust: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The word that reports print.
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The thread's own registers: certain.
  public static let context = FrameTrust(rawValue: "context")
  /// Call frame information: certain if the frame below is certain and the stack is not damaged.
  public static let callFrameInformation = FrameTrust(rawValue: "call-frame-information")
  /// The registers that the kernel saved for a signal handler: certain if the frame below is certain.
  public static let signalFrame = FrameTrust(rawValue: "signal-frame")
  /// The return address of a call without a frame yet: on top of the stack or in the link register.
  public static let returnAddress = FrameTrust(rawValue: "return-address")
  /// The chain of saved frame pointers, which lacks functions without frame pointers.
  public static let framePointer = FrameTrust(rawValue: "frame-pointer")
  /// A caller that left the stack by a tail call: inferred from the code between the frames around it.
  public static let tailCall = FrameTrust(rawValue: "tail-call")
  /// A word on the stack that points after a call; may be left over from an earlier one.
  public static let scan = FrameTrust(rawValue: "scan")
  /// The first frame above a part of the stack that the dump left out; frames before it are missing.
  public static let afterGap = FrameTrust(rawValue: "after-gap")
  /// An asynchronous function that waits, found in its task's memory.
  public static let asyncContext = FrameTrust(rawValue: "async-context")

  public var description: String { rawValue }
}

/// A place in a source file.
public struct SourceLocation: Sendable, Hashable {
  /// The path on the machine that built the program; usually absolute.
  public var file: String
  /// The line, counted from 1; nil for code without a line.
  public var line: Int?
  /// The column, counted from 1; nil if it is not recorded.
  public var column: Int?
  /// True if the code has no line, and this is the last one before it in the same function, as
  /// debuggers show it.
  public var isApproximate: Bool

  public init(
    file: String, line: Int? = nil, column: Int? = nil, isApproximate: Bool = false
  ) {
    self.isApproximate = isApproximate
    self.file = file
    self.line = line
    self.column = column
  }
}

/// The callers of an asynchronous function, whose state is in their task's memory.
public struct AsyncCalls: Sendable, Equatable {
  /// The index of the awaited function in the trace's frames; nil if it is not listed.
  public var calleeIndex: Int?
  /// The callers, the innermost first, each at the address where it will continue.
  public var frames: [StackFrame] = []
  /// Callers in the middle that are not in `frames`.
  public var omittedCount = 0
  /// The index in `frames` of the first one after the omitted ones.
  public var omittedAfter = 0
  /// True if the chain ends in memory that is not in the dump.
  public var isCut = false

  public init() {}
}
