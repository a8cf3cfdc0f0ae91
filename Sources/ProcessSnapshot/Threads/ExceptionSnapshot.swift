internal import IntermediateDump

/// The signal that ended the process, with the data of the kernel and the runtime about it.
public struct ExceptionSnapshot: Sendable, Equatable {
  /// The kernel's ID of the thread that took the signal.
  public var threadID: UInt32
  /// The signal's number; nil if it is missing from a truncated dump.
  public var signal: Int32?
  /// `si_code`; nil if the writer of a minidump did not record it.
  public var code: Int32?
  /// `si_addr`, if the signal sets it; nil for a signal that was sent.
  ///
  /// For another system, the address of the exception.
  public var address: Address?
  /// The kernel's siginfo_t, 128 bytes.
  public var signalInfo: [UInt8]?
  /// The registers at the moment of the signal.
  public var context: CPUContext?
  /// The kernel's page-map entry for `address`, for a SIGSEGV in unmapped memory.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst.
  public var faultPage: UInt64?
  /// The x86 trap number; nil on other processors.
  public var trapNumber: UInt64?
  /// The processor's data about the fault: on x86 the page-fault error code, in which bit 1 is a write and bit 4 an
  /// instruction fetch; on arm64 the exception syndrome (ESR).
  public var trapErrorCode: UInt64?
  /// The Swift runtime's message before it trapped.
  public var fatalMessage: String?
  /// libc's message before it aborted.
  public var abortMessage: String?
  /// The exception of another system; nil for one of Linux.
  ///
  /// It is not kept when the snapshot is written.
  public var foreign: ForeignException?
  /// The name of the process that sent the signal, when it was handled.
  public var senderName: String?

  public init(threadID: UInt32) {
    self.threadID = threadID
  }
}

extension ExceptionSnapshot {
  /// True for a signal that an instruction of the thread raised, so that the trap number in its frame belongs to this
  /// signal.
  ///
  /// For a signal that was sent, the frame still contains the numbers of an earlier trap of the thread.
  static func isFault(signal: Int32?, code: Int32?) -> Bool {
    guard let signal, let code else { return false }
    // SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV.
    return [4, 5, 7, 8, 11].contains(signal) && code > 0
  }

  /// True if the kernel sets `si_addr`: for faults, except those with SI_KERNEL (a non-canonical address, `int3`).
  ///
  /// If it is false, the bytes of `si_addr` contain the sender's process and user ID, or nothing. Source:
  /// sigaction(2), "The si_code field"; Linux include/uapi/asm-generic/siginfo.h.
  ///
  /// - Parameters:
  ///   - signal: the signal's number.
  ///   - code: its `si_code`.
  public static func hasAddress(signal: Int32?, code: Int32?) -> Bool {
    isFault(signal: signal, code: code) && code != 0x80
  }
}

// The fields of the kernel's siginfo_t. Source: sigaction(2); Linux
// include/uapi/asm-generic/siginfo.h, the same on x86_64 and arm64: signal 0, code 8, then by kind
// of signal from byte 16 on.

extension ExceptionSnapshot {
  /// The process that sent a signal.
  public struct Sender: Sendable, Equatable {
    /// `si_pid`, in the receiver's PID namespace; 0 for a process that is not visible there.
    public var processID: Int32
    /// `si_uid`, the sender's real user ID.
    public var userID: UInt32
    /// `si_value` of sigqueue(3) and mq_notify(3); meaningless for other signals.
    public var value: UInt64

    public init(processID: Int32, userID: UInt32, value: UInt64 = 0) {
      self.processID = processID
      self.userID = userID
      self.value = value
    }
  }

  /// A system call that was trapped.
  public struct TrappedSystemCall: Sendable, Equatable {
    /// `si_call_addr`: the instruction after the call.
    public var address: Address
    /// `si_syscall`.
    public var number: Int32
    /// `si_arch`, an AUDIT_ARCH_ constant: 0xC000003E x86_64, 0xC00000B7 arm64.
    public var architecture: UInt32

    public init(address: Address, number: Int32, architecture: UInt32) {
      self.address = address
      self.number = number
      self.architecture = architecture
    }
  }

  /// True for a signal that a process sent: its code is zero or negative.
  public var wasSent: Bool { code.map { $0 <= 0 } ?? false }

  /// The sender of the signal; nil for a fault, and for codes whose siginfo names none, such as a
  /// timer's.
  ///
  /// SI_USER, SI_QUEUE, SI_MESGQ and SI_TKILL name one.
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

  /// The system call of a SIGSYS; nil for any other signal.
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

/// The C++ exception that the crashing thread caught last before the process aborted.
///
/// An uncaught one counts as caught by std::terminate().
public struct CxxException: Sendable, Equatable {
  /// The linkage name of its type, such as "St13runtime_error"; nil if it is missing from a truncated dump.
  public var typeName: String?
  /// Its text, if the type stores it as libstdc++'s exceptions do.
  public var message: String?

  public init(typeName: String?, message: String? = nil) {
    self.typeName = typeName
    self.message = message
  }
}

extension ExceptionSnapshot {
  /// All but the registers, which are the crashing thread's.
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
