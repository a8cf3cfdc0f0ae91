public import ProcessSnapshot

/// The stack of one thread as a walk has found it, with the innermost frame first.
public struct StackTrace: Sendable, Equatable {
  /// Why the walk of a stack ended.
  public enum End: String, Sendable {
    /// The walk reached the thread's first function.
    case bottom
    /// No method found a plausible caller.
    case lost
    /// The walk reached a limit, for example on the number of frames.
    case limit
    /// The dump contains no instruction pointer for the thread, so the walk could not begin.
    case noContext
  }

  public var frames: [StackFrame] = []
  /// The number of frames that were walked but are not in `frames`, not counting inlined calls.
  public var omittedCount = 0
  /// The index in `frames` of the first frame after the omitted ones.
  public var omittedAfter = 0
  /// True if the walk crossed a part of the stack that the dump left out.
  ///
  /// The frames in this part are unknown.
  public var hasGap = false
  /// The longest recursion on the stack, including omitted frames.
  public var recursion: Recursion?
  public var end: End = .noContext
  /// The suspended callers of the innermost asynchronous function.
  ///
  /// `asyncCalls` is nil if such callers were not searched for, or none was found.
  public var asyncCalls: AsyncCalls?

  public init() {}
}

/// One call on a thread's stack.
public struct StackFrame: Sendable, Equatable {
  /// The address of the frame's next instruction; for a caller, this is the return address.
  public var address: Address
  /// True if `address` is a return address, which follows the call.
  public var isReturnAddress: Bool
  public var trust: FrameTrust
  /// The frame's stack pointer; nil if it is not known.
  public var stackPointer: Address?
  /// The index of the module in the snapshot's `modules`; nil for an address outside all modules.
  public var moduleIndex: Int?
  /// The function; nil if no name was found for it.
  public var symbol: FrameSymbol?
  /// The line of the instruction; if another call was inlined into this frame at the address, the line of that call.
  ///
  /// `sourceLocation` is nil without debug information.
  public var sourceLocation: SourceLocation?
  /// True if this call was inlined into the next frame.
  public var isInlined = false
  /// True if the name and the line were stored with the report, and were not read from the module's file.
  public var isStored = false

  /// The address that is used to look up the function and the line.
  ///
  /// For a return address, the lookup address is inside the call instruction. The instruction after the call may
  /// belong to another line or, if the call never returns, to another function.
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

/// The function to which a frame belongs.
public struct FrameSymbol: Sendable, Equatable {
  /// The function's name in the symbol table, otherwise in the debug information.
  public var linkageName: String
  /// The demangled name of a Swift or C++ function, otherwise the linkage name.
  public var name: String
  /// The number of bytes from the function's start to the address; nil for an inlined function, or if the start is
  /// not known.
  public var offset: UInt64?

  public init(linkageName: String, name: String, offset: UInt64?) {
    self.linkageName = linkageName
    self.name = name
    self.offset = offset
  }
}

/// The method that found a frame, which shows how reliable the frame is.
///
/// More methods may be added in later versions.
public struct FrameTrust: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The word for the method in a report's JSON.
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The thread's registers; the frame is certain.
  public static let context = FrameTrust(rawValue: "context")
  /// Call frame information; the frame is certain if the callee's frame is certain and the stack is not damaged.
  public static let callFrameInformation = FrameTrust(rawValue: "call-frame-information")
  /// The registers that the kernel saved for a signal handler; the frame is certain if the handler's frame is
  /// certain.
  public static let signalFrame = FrameTrust(rawValue: "signal-frame")
  /// A return address on top of the stack or in the link register, because the callee has not set up a frame.
  public static let returnAddress = FrameTrust(rawValue: "return-address")
  /// The chain of saved frame pointers, in which functions without frame pointers are missing.
  public static let framePointer = FrameTrust(rawValue: "frame-pointer")
  /// A function that has left the stack by a tail call; inferred from the code of the functions around it.
  public static let tailCall = FrameTrust(rawValue: "tail-call")
  /// A word on the stack that points to the instruction after a call; it may be left over from an earlier call.
  public static let scan = FrameTrust(rawValue: "scan")
  /// The first frame after a part of the stack that the dump left out; the frames in that part are missing.
  public static let afterGap = FrameTrust(rawValue: "after-gap")
  /// A suspended asynchronous function, which was found in the memory of its task.
  public static let asyncContext = FrameTrust(rawValue: "async-context")

  public var description: String { rawValue }
}

/// A place in a source file.
public struct SourceLocation: Sendable, Hashable {
  /// The path on the machine that built the program; usually absolute.
  public var file: String
  /// The line, counted from 1; nil if the code has no line and no earlier line in the same function is known.
  public var line: Int?
  /// The column, counted from 1; nil if it is not recorded.
  public var column: Int?
  /// True if the code itself has no line, and `line` is the last line before the code in the same function.
  ///
  /// Debuggers show this line too.
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

/// The suspended callers of an asynchronous function, which were found in the memory of their task.
public struct AsyncCalls: Sendable, Equatable {
  /// The index, in the frames of the trace, of the function that the innermost caller awaits; nil if that function is
  /// not among these frames.
  public var calleeIndex: Int?
  /// The callers, innermost first, each with the address at which it will continue.
  public var frames: [StackFrame] = []
  /// The number of callers in the middle that are not in `frames`.
  public var omittedCount = 0
  /// The index in `frames` of the first frame after the omitted ones.
  public var omittedAfter = 0
  /// True if the next caller could not be read, usually because its memory is not in the dump.
  public var isCut = false

  public init() {}
}
