internal import IntermediateDump

// The fields of the kernel's siginfo_t. Source: sigaction(2); Linux
// include/uapi/asm-generic/siginfo.h, the same on x86_64 and arm64: signal 0, code 8, then by kind
// of signal from byte 16 on.

extension ExceptionSnapshot {
  /// The process that sent a signal.
  public struct Sender: Sendable, Equatable {
    /// `si_pid`, in the receiver's PID namespace; 0 for a process that cannot be seen from there.
    public var processID: Int32
    /// `si_uid`, the sender's real user ID.
    public var userID: UInt32
    /// `si_value` of sigqueue(3) and mq_notify(3); means nothing for the others.
    public var value: UInt64

    public init(processID: Int32, userID: UInt32, value: UInt64 = 0) {
      self.processID = processID
      self.userID = userID
      self.value = value
    }
  }

  /// A system call that was trapped.
  public struct TrappedSystemCall: Sendable, Equatable {
    /// `si_call_addr`: the instruction behind the call.
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

  /// Who sent the signal; nil for a fault, and for codes whose siginfo names no sender, such as a
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
