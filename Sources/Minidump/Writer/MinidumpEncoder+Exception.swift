internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MINIDUMP_EXCEPTION_STREAM: the signal's number, its code as flags, its address.
  ///
  /// A dump without a crash has the number that Breakpad and Crashpad give it on Linux, all ones.
  /// Source: Breakpad `minidump_exception_linux.h`, MD_EXCEPTION_CODE_LIN_DUMP_REQUESTED; Microsoft minidumpapiset.h; Crashpad `snapshot/linux/exception_snapshot_linux.cc` for
  /// what Linux puts where.
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
    let number = snapshot.request == nil ? UInt32(bitPattern: exception.signal ?? 0) : .max
    buffer.append(number)
    buffer.append(UInt32(bitPattern: exception.code ?? 0))
    // No nested exception.
    buffer.append(UInt64(0))
    buffer.append(exception.address ?? exception.systemCall?.address ?? 0 as Address)
    buffer.append(UInt32(truncatingIfNeeded: parameters.count))
    buffer.append(UInt32(0))
    for index in 0..<15 { buffer.append(index < parameters.count ? parameters[index] : 0) }
    buffer.append(context)
    return MinidumpLocation(size: 168, rva: start)
  }

  /// What siginfo_t says besides the address: number and architecture of a system call, or process,
  /// user and value of a sender.
  private static func parameters(of exception: ExceptionSnapshot) -> [UInt64] {
    if let call = exception.systemCall {
      return [UInt64(UInt32(bitPattern: call.number)), UInt64(call.architecture)]
    }
    guard let sender = exception.sender else { return [] }
    return [
      UInt64(UInt32(bitPattern: sender.processID)), UInt64(sender.userID), sender.value,
    ]
  }
}
