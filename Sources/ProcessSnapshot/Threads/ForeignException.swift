/// An exception in a minidump from a system other than Linux.
public struct ForeignException: Sendable, Equatable {
  /// The system that defines the codes of the exception.
  public enum System: Sendable, Equatable {
    case windows
    /// macOS, iOS and related systems, which use Mach exceptions.
    case apple
    /// Another system, with its number in the minidump; the meaning of its codes is not known.
    case other(UInt32)

    /// The system's name, for example "Windows".
    public var name: String {
      switch self {
      case .windows: "Windows"
      case .apple: "macOS"
      case .other(let number): "platform 0x" + String(number, radix: 16)
      }
    }
  }

  /// The kind of memory access that faulted.
  public enum Access: String, Sendable {
    case read, write, execute
  }

  public var system: System
  /// The exception code on Windows, or the number of the Mach exception.
  public var code: UInt32
  /// The flags of the exception; on macOS, the first code of the Mach exception.
  public var flags: UInt32
  /// The exception's parameters, at most 15.
  public var parameters: [UInt64]

  public init(system: System, code: UInt32, flags: UInt32, parameters: [UInt64]) {
    self.system = system
    self.code = code
    self.flags = flags
    self.parameters = parameters
  }

  /// The system's name for the code; nil for an unknown code.
  ///
  /// Source: Microsoft ntstatus.h and winnt.h; Apple mach/exception_types.h.
  /// Source: Crashpad `client/simulate_crash_mac.cc`, kMachExceptionSimulated, and `util/mach/mach_extensions.h`.
  public var name: String? {
    switch system {
    case .windows: Self.windowsNames[code]
    case .apple: Self.appleNames[crash == nil ? code : 10]
    case .other: nil
    }
  }

  /// The kernel's return code or the signal that comes with a Mach exception, as text such as "KERN_INVALID_ADDRESS";
  /// nil if there is none, or if the name of the return code is not known.
  ///
  /// Source: Apple mach/kern_return.h and mach/i386/exception.h.
  public var detail: String? {
    guard system == .apple else { return nil }
    if let crash { return Self.appleSignals[crash] ?? "signal \(crash)" }
    switch code {
    case 1 where flags == 1: return "KERN_INVALID_ADDRESS"
    case 1 where flags == 2: return "KERN_PROTECTION_FAILURE"
    case 1 where flags == 13: return "EXC_I386_GPFLT"
    case 3 where flags == 1: return "EXC_I386_DIV"
    default: return nil
    }
  }

  /// The signal of an EXC_CRASH; nil for another exception.
  ///
  /// Crashpad stores the number and the codes of an EXC_CRASH only in the parameters.
  ///
  /// Source: Crashpad `snapshot/mac/exception_snapshot_mac.cc`; `util/mach/exception_types.cc`,
  /// ExcCrashRecoverOriginalException.
  private var crash: UInt64? {
    guard system == .apple, code == 0, parameters.count > 1, parameters[0] == 10 else { return nil }
    return parameters[1] >> 24 & 0xFF
  }

  /// The kind of memory access that faulted; nil except for access violations on Windows, which record it.
  ///
  /// Source: Microsoft, EXCEPTION_RECORD, the first parameter of an access violation.
  public var access: Access? {
    guard system == .windows, isAccessViolation else { return nil }
    return switch parameters.first {
    case 0: .read
    case 1: .write
    case 8: .execute
    default: nil
    }
  }

  /// The address that the exception is about, such as the address of a failed access.
  ///
  /// For an access violation on Windows, the result is the exception's second parameter and not the address in the
  /// record.
  ///
  /// - Parameter address: the address in the record. On Windows, the recorded address is the instruction's; on
  ///   macOS, it is the accessed address.
  public func address(recorded address: UInt64) -> Address {
    guard system == .windows, isAccessViolation, parameters.count > 1 else {
      return Address(address)
    }
    return Address(parameters[1])
  }

  /// True for EXCEPTION_ACCESS_VIOLATION and EXCEPTION_IN_PAGE_ERROR.
  private var isAccessViolation: Bool { code == 0xC000_0005 || code == 0xC000_0006 }

  private static let windowsNames: [UInt32: String] = [
    0x8000_0001: "EXCEPTION_GUARD_PAGE", 0x8000_0002: "EXCEPTION_DATATYPE_MISALIGNMENT",
    0x8000_0003: "EXCEPTION_BREAKPOINT", 0x8000_0004: "EXCEPTION_SINGLE_STEP",
    0xC000_0005: "EXCEPTION_ACCESS_VIOLATION", 0xC000_0006: "EXCEPTION_IN_PAGE_ERROR",
    0xC000_0008: "EXCEPTION_INVALID_HANDLE", 0xC000_000D: "STATUS_INVALID_PARAMETER",
    0xC000_0017: "STATUS_NO_MEMORY", 0xC000_001D: "EXCEPTION_ILLEGAL_INSTRUCTION",
    0xC000_0025: "EXCEPTION_NONCONTINUABLE_EXCEPTION",
    0xC000_008C: "EXCEPTION_ARRAY_BOUNDS_EXCEEDED",
    0xC000_008E: "EXCEPTION_FLT_DIVIDE_BY_ZERO", 0xC000_0094: "EXCEPTION_INT_DIVIDE_BY_ZERO",
    0xC000_0095: "EXCEPTION_INT_OVERFLOW", 0xC000_0096: "EXCEPTION_PRIV_INSTRUCTION",
    0xC000_00FD: "EXCEPTION_STACK_OVERFLOW", 0xC000_0374: "STATUS_HEAP_CORRUPTION",
    0xC000_0409: "STATUS_STACK_BUFFER_OVERRUN", 0xC000_0420: "STATUS_ASSERTION_FAILURE",
    0xC000_0602: "STATUS_FAIL_FAST_EXCEPTION", 0xE06D_7363: "an uncaught C++ exception",
    0x0517_A7ED: "a dump without a crash",
  ]

  /// Source: Apple sys/signal.h.
  private static let appleSignals: [UInt64: String] = [
    4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 10: "SIGBUS", 11: "SIGSEGV", 12: "SIGSYS",
  ]

  private static let appleNames: [UInt32: String] = [
    1: "EXC_BAD_ACCESS", 2: "EXC_BAD_INSTRUCTION", 3: "EXC_ARITHMETIC", 4: "EXC_EMULATION",
    5: "EXC_SOFTWARE", 6: "EXC_BREAKPOINT", 7: "EXC_SYSCALL", 8: "EXC_MACH_SYSCALL",
    9: "EXC_RPC_ALERT",
    10: "EXC_CRASH", 11: "EXC_RESOURCE", 12: "EXC_GUARD", 13: "EXC_CORPSE_NOTIFY",
    0x4350_7378: "a dump without a crash", 0x4350_6E78: "an uncaught NSException",
  ]
}
