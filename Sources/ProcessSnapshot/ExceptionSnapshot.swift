/// Why the process ended: a signal and what the kernel and the runtime said of it.
public struct ExceptionSnapshot: Sendable, Equatable {
  /// The kernel's ID of the thread that took the signal.
  public var threadID: UInt32
  /// The signal's number; nil where the dump lost it.
  public var signal: Int32?
  /// `si_code`.
  public var code: Int32?
  /// `si_addr`, only where the signal is one that sets it: nil for a signal that was sent.
  public var address: Address?
  /// The kernel's siginfo_t, 128 bytes.
  public var signalInfo: [UInt8]?
  /// The registers at the moment of the signal.
  public var context: CPUContext?
  /// The x86 trap number, or nil elsewhere.
  public var trapNumber: UInt64?
  /// The x86 page-fault error code: bit 1 a write, bit 4 an instruction fetch; nil elsewhere.
  public var trapErrorCode: UInt64?
  /// What the Swift runtime said before it trapped.
  public var fatalMessage: String?
  /// What libc said before it aborted.
  public var abortMessage: String?
  /// What the process that sent the signal was called when the signal was handled.
  public var senderName: String?

  public init(threadID: UInt32) {
    self.threadID = threadID
  }
}

extension ExceptionSnapshot {
  /// True for a signal that an instruction of the thread raised: the trap number in its frame is of
  /// this signal.
  ///
  /// For a signal that was sent, the kernel leaves the numbers of some earlier trap of the thread
  /// there.
  static func isFault(signal: Int32?, code: Int32?) -> Bool {
    guard let signal, let code else { return false }
    // ILL, TRAP, BUS, FPE, SEGV.
    return [4, 5, 7, 8, 11].contains(signal) && code > 0
  }

  /// True where the kernel sets `si_addr`: faults, but not those it calls SI_KERNEL (a
  /// non-canonical address, `int3`).
  ///
  /// Where it is false, the bytes of `si_addr` are those of the sender's process and user ID, or
  /// nothing. Source: sigaction(2), "The si_code field"; Linux include/uapi/asm-generic/siginfo.h.
  ///
  /// - Parameters:
  ///   - signal: the signal's number.
  ///   - code: its `si_code`.
  public static func hasAddress(signal: Int32?, code: Int32?) -> Bool {
    isFault(signal: signal, code: code) && code != 0x80
  }
}
