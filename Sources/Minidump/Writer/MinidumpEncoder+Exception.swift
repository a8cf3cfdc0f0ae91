internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MINIDUMP_EXCEPTION_STREAM: the signal's number, its code as flags, its address.
  ///
  /// Source: Microsoft minidumpapiset.h; Crashpad `snapshot/linux/exception_snapshot_linux.cc` for what Linux puts where.
  mutating func encodeException() -> MinidumpLocation {
    guard let exception = snapshot.exception else { return .none }
    let context =
      crashedContext
      ?? encodeContext(exception.context, stackPointer: nil, instructionPointer: nil)
    let parameters = Self.parameters(of: exception)
    buffer.align(to: 4)
    let start = buffer.rva
    buffer.append(exception.threadID)
    buffer.append(UInt32(0))
    buffer.append(UInt32(bitPattern: exception.signal ?? 0))
    buffer.append(UInt32(bitPattern: exception.code ?? 0))
    // No nested exception.
    buffer.append(UInt64(0))
    buffer.append(exception.address ?? Self.callAddress(of: exception) ?? 0)
    buffer.append(UInt32(truncatingIfNeeded: parameters.count))
    buffer.append(UInt32(0))
    for index in 0..<15 { buffer.append(index < parameters.count ? parameters[index] : 0) }
    buffer.append(context)
    return MinidumpLocation(size: 168, rva: start)
  }

  /// True for a system call that a seccomp filter trapped.
  private static func isSystemCall(_ exception: ExceptionSnapshot) -> Bool {
    exception.signal == 31 && (exception.code ?? 0) > 0
  }

  /// `si_call_addr` of a SIGSYS.
  private static func callAddress(of exception: ExceptionSnapshot) -> UInt64? {
    guard isSystemCall(exception) else { return nil }
    return exception.signalInfo?[...].littleEndian(at: 16, width: 8)
  }

  /// What siginfo_t says besides the address: number and architecture of a system call, or process, user and value of a sender.
  private static func parameters(of exception: ExceptionSnapshot) -> [UInt64] {
    guard let info = exception.signalInfo?[...], let code = exception.code,
      let word16 = info.littleEndian(at: 16, width: 4),
      let word20 = info.littleEndian(at: 20, width: 4),
      let word24 = info.littleEndian(at: 24, width: 8)
    else { return [] }
    if isSystemCall(exception) { return [word24 & 0xFFFF_FFFF, word24 >> 32] }
    // SI_USER, SI_QUEUE and SI_TKILL; the other senders of the kernel lay it out differently.
    return [0, -1, -6].contains(code) ? [word16, word20, word24] : []
  }
}
