internal import IntermediateDump

/// The signal of a crash, with what the kernel and the runtime recorded about it.
public struct ExceptionSnapshot: Sendable, Equatable {
  /// The kernel's ID of the thread that received the signal or, in a dump without a crash, of the hung thread or the
  /// thread that took the dump.
  public var threadID: UInt32
  /// The signal's number; nil for a dump without a crash, and if it is missing from a truncated dump.
  public var signal: Int32?
  /// The signal's `si_code`; nil if it was not recorded.
  public var code: Int32?
  /// The address in `si_addr`; nil if the kernel does not set it, for example for a signal that was sent.
  ///
  /// In a minidump from another operating system, `address` is the address to which the exception refers.
  public var address: Address?
  /// The 128 bytes of the kernel's siginfo_t.
  public var signalInfo: [UInt8]?
  /// The registers at the moment of the signal.
  public var context: CPUContext?
  /// The entry for `address` in `/proc/self/pagemap`, if a SIGSEGV hit unmapped memory; it can show that a guard region
  /// was hit.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst.
  public var faultPage: UInt64?
  /// The x86 trap number; nil on other processors.
  public var trapNumber: UInt64?
  /// The processor's code for the fault.
  ///
  /// On x86, the code is the page-fault error code, in which bit 1 means a write and bit 4 an instruction fetch. On
  /// arm64, the code is the exception syndrome (ESR).
  public var trapErrorCode: UInt64?
  /// The message that the Swift runtime set before it trapped.
  public var fatalMessage: String?
  /// The message that libc set before it aborted.
  public var abortMessage: String?
  /// The exception in a minidump from another operating system; nil on Linux.
  ///
  /// `ProcessSnapshot.encoded()` does not write a foreign exception.
  public var foreign: ForeignException?
  /// The name that the sender of the signal had when the signal was handled.
  public var senderName: String?

  public init(threadID: UInt32) {
    self.threadID = threadID
  }
}

extension ExceptionSnapshot {
  /// True for a signal that an instruction of the thread raised.
  ///
  /// The trap number in the signal frame then belongs to this signal. The result is also true for the SIGSEGV with
  /// which the kernel ends a process because another signal could not be delivered.
  ///
  /// For a signal that was sent, the signal frame still contains the trap number and the error code of an earlier trap
  /// of the thread.
  static func isFault(signal: Int32?, code: Int32?) -> Bool {
    guard let signal, let code else { return false }
    // The signals are SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV.
    return [4, 5, 7, 8, 11].contains(signal) && code > 0
  }

  /// True if the kernel sets `si_addr`, as it does for faults without SI_KERNEL.
  ///
  /// Faults with SI_KERNEL are, for example, an access to a non-canonical address and `int3`.
  ///
  /// If the result is false, the bytes at the offset of `si_addr` have another meaning. For example, they contain the
  /// sender's process ID and user ID.
  ///
  /// Source: sigaction(2), "The si_code field"; Linux include/uapi/asm-generic/siginfo.h.
  ///
  /// - Parameters:
  ///   - signal: the signal's number.
  ///   - code: the signal's `si_code`.
  public static func hasAddress(signal: Int32?, code: Int32?) -> Bool {
    isFault(signal: signal, code: code) && code != 0x80
  }
}

// The fields of the kernel's siginfo_t.
// Source: sigaction(2); Linux include/uapi/asm-generic/siginfo.h.
//
// On x86_64 and arm64, the signal is at byte 0 and the code at byte 8. The contents from byte 16 on depend on the kind
// of signal.

extension ExceptionSnapshot {
  /// The process that sent a signal.
  public struct Sender: Sendable, Equatable {
    /// The sender's process ID in the receiver's PID namespace (`si_pid`); 0 for a process that is not visible there.
    public var processID: Int32
    /// The sender's real user ID (`si_uid`).
    public var userID: UInt32
    /// The value that sigqueue(3) or mq_notify(3) passed (`si_value`); meaningless for other signals.
    public var value: UInt64

    public init(processID: Int32, userID: UInt32, value: UInt64 = 0) {
      self.processID = processID
      self.userID = userID
      self.value = value
    }
  }

  /// A system call for which the kernel raised SIGSYS.
  public struct TrappedSystemCall: Sendable, Equatable {
    /// The address of the instruction after the system call (`si_call_addr`).
    public var address: Address
    /// The number of the system call (`si_syscall`).
    public var number: Int32
    /// The architecture as an `AUDIT_ARCH_*` constant (`si_arch`): 0xC000003E for x86_64, 0xC00000B7 for arm64.
    public var architecture: UInt32

    public init(address: Address, number: Int32, architecture: UInt32) {
      self.address = address
      self.number = number
      self.architecture = architecture
    }
  }

  /// True if the signal was sent, for example by a process or a timer; the code of such a signal is zero or negative.
  public var wasSent: Bool { code.map { $0 <= 0 } ?? false }

  /// The sender of the signal; nil for a fault, and for signals whose siginfo names no sender, such as a timer's.
  ///
  /// The siginfo names a sender if the code is SI_USER, SI_QUEUE, SI_MESGQ or SI_TKILL.
  public var sender: Sender? {
    guard let code, [0, -1, -3, -6].contains(code), let info = signalInfo?[...],
      let processID = info.littleEndian(at: 16, width: 4),
      let userID = info.littleEndian(at: 20, width: 4),
      let value = info.littleEndian(at: 24, width: 8)
    else { return nil }
    return Sender(
      processID: Int32(truncatingIfNeeded: processID), userID: UInt32(truncatingIfNeeded: userID),
      value: value)
  }

  /// The system call that raised SIGSYS; nil for any other signal, for a SIGSYS that was sent, and without siginfo.
  public var systemCall: TrappedSystemCall? {
    guard signal == 31, let code, code > 0, let info = signalInfo?[...],
      let address = info.littleEndian(at: 16, width: 8),
      let number = info.littleEndian(at: 24, width: 4),
      let architecture = info.littleEndian(at: 28, width: 4)
    else { return nil }
    return TrappedSystemCall(
      address: Address(address), number: Int32(truncatingIfNeeded: number),
      architecture: UInt32(truncatingIfNeeded: architecture))
  }
}

extension ExceptionSnapshot {
  /// The protection key whose rights did not allow an access (`si_pkey`); nil for any other fault, and without siginfo.
  package var protectionKey: UInt32? {
    guard signal == 11, code == 4, let info = signalInfo?[...] else { return nil }
    return info.littleEndian(at: 32, width: 4).map { UInt32(truncatingIfNeeded: $0) }
  }
}

/// The last C++ exception that the crashing thread caught before the process aborted.
///
/// An uncaught exception is included, because the runtime counts the call of std::terminate() as a catch.
public struct CxxException: Sendable, Equatable {
  /// The mangled name of the exception's type, such as "St13runtime_error"; nil if it is not known.
  public var typeName: String?
  /// The exception's message, if its type stores one in the way that libstdc++'s exceptions do.
  public var message: String?

  public init(typeName: String?, message: String? = nil) {
    self.typeName = typeName
    self.message = message
  }
}

extension ExceptionSnapshot {
  /// All fields except the registers, which are stored with the crashing thread, and `foreign`, which is not stored.
  package static let mapFields = MapFields(
    ExceptionSnapshot(threadID: 0),
    [
      .value(.exceptionThreadID, \.threadID),
      .optional(.signalNumber, \.signal),
      .optional(.signalCode, \.code),
      Field(.faultAddress, [.address], size: 8) { map, exception in
        guard hasAddress(signal: exception.signal, code: exception.code) else {
          exception.address = nil
          return false
        }
        exception.address = map[.faultAddress] ?? exception.address
        return true
      } write: { exception, writer in
        writer.write(.faultAddress, exception.address)
      }.showing { $0.address.map { .address($0) } },
      .optional(.signalInfo, \.signalInfo),
      .optional(.trapNumber, \.trapNumber),
      .optional(.trapErrorCode, \.trapErrorCode),
      .optional(.faultPage, \.faultPage),
      .optional(.fatalMessage, \.fatalMessage),
      .optional(.abortMessage, \.abortMessage),
      .optional(.senderName, \.senderName),
    ])
}

extension CxxException {
  static let mapFields = MapFields(
    CxxException(typeName: nil),
    [
      .optional(.cxxTypeName, \.typeName),
      .optional(.cxxMessage, \.message),
    ])
}
