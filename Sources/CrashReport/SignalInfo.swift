internal import ProcessSnapshot

/// The fields of the kernel's siginfo_t that an explanation needs.
///
/// Source: Linux `struct siginfo` of include/uapi/asm-generic/siginfo.h; the same on x86_64 and arm64.
struct SignalInfo {
  private let bytes: [UInt8]
  private let signal: Int32?
  private let code: Int32?

  init(_ exception: ExceptionSnapshot) {
    bytes = exception.signalInfo ?? []
    signal = exception.signal
    code = exception.code
  }

  private func integer(at offset: Int) -> UInt32? {
    guard bytes.count >= offset + 4 else { return nil }
    return bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// True for a signal that a process sent; its code is zero or negative.
  var wasSent: Bool { code.map { $0 <= 0 } ?? false }

  /// `si_pid` and `si_uid`, which kill, tgkill and sigqueue set.
  var sender: CrashReport.Sender? {
    guard let code, [0, -1, -6].contains(code), let pid = integer(at: 16),
      let uid = integer(at: 20)
    else { return nil }
    return CrashReport.Sender(pid: Int32(bitPattern: pid), uid: uid)
  }

  /// `si_syscall` of a SIGSYS.
  var systemCall: UInt32? {
    guard signal == SignalNames.systemCall, let code, code > 0 else { return nil }
    return integer(at: 24)
  }
}

/// What a faulting instruction tried to do.
enum MemoryAccess: String {
  case read
  case write
  case execute

  /// From the page-fault error code of x86, or where the instruction pointer itself faulted; nil where neither tells.
  ///
  /// Source: Intel SDM volume 3, 4.7 (Page-Fault Exceptions): bit 1 a write, bit 4 an instruction fetch.
  init?(_ exception: ExceptionSnapshot) {
    guard exception.signal == SignalNames.segmentation || exception.signal == SignalNames.bus,
      let code = exception.code, code > 0
    else { return nil }
    if let address = exception.address, exception.context?.instructionPointer == address {
      self = .execute
      return
    }
    // Trap 14 is the page fault; the error code of another trap means something else.
    guard exception.trapNumber == 14, let error = exception.trapErrorCode else { return nil }
    self = error & 16 != 0 ? .execute : error & 2 != 0 ? .write : .read
  }
}
