/// A debugger's view of a crashed process, in terms that both debuggers share.
public struct DebuggerView: Sendable {
  public struct Frame: Sendable, Equatable {
    public var address: UInt64
    /// The linkage name of the function, without the offset; nil if the debugger does not know it.
    public var function: String?
  }

  /// A frame with its line; each inlined call has a separate one.
  public struct SourceFrame: Sendable, Equatable {
    public var address: UInt64
    public var isInlined: Bool
    /// True if `address` is a return address.
    public var isReturnAddress: Bool
    /// The linkage name, if the debug information has one.
    public var function: String
    /// Nil if the debugger knows no line.
    public var file: String?
    public var line: Int
  }

  /// The kernel's thread IDs.
  public var threads: [UInt32] = []
  /// The thread that the debugger selected: the one that crashed.
  public var crashedThread: UInt32?
  /// The crashing thread's registers, by the names in the architecture's manuals.
  public var registers: [String: UInt64] = [:]
  /// The crashing thread's frames, innermost first, without inlined and tail-call frames.
  public var frames: [Frame] = []
  /// Every thread's frames by its ID, without the frames of a signal handler and its callees; from gdb only.
  public var stacks: [UInt32: [Frame]] = [:]
  /// The same with tail-call frames.
  public var stacksWithTailCalls: [UInt32: [Frame]] = [:]
  /// The frames with lines and inlined calls, without tail-call frames.
  public var sources: [UInt32: [SourceFrame]] = [:]
  /// Fields of the kernel's siginfo_t, if the debugger shows them.
  public var signal: Int32?
  public var signalCode: Int32?
  public var signalAddress: UInt64?
  /// The complete output of the debugger.
  public var transcript = ""

  /// The names of the 16 general registers and the instruction pointer.
  public static let registerNames: [String] = {
    #if arch(x86_64)
      [
        "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15", "rip",
      ]
    #else
      registerNamesOfARM64
    #endif
  }()

  public static let registerNamesOfARM64 = (0...30).map { "x\($0)" } + ["sp", "pc"]

  /// A number in decimal, or in hexadecimal after 0x.
  static func number(_ text: some StringProtocol) -> UInt64? {
    text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
  }
}
