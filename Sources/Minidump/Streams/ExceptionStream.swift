internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_EXCEPTION_STREAM: the signal's number, its code as the flags, and its address.
  ///
  /// If the dump was taken without a crash, the number is all ones, which Breakpad and Crashpad use for such dumps on
  /// Linux.
  ///
  /// Source: Breakpad `minidump_exception_linux.h`, MD_EXCEPTION_CODE_LIN_DUMP_REQUESTED. Source: Microsoft
  /// minidumpapiset.h; Crashpad `snapshot/linux/exception_snapshot_linux.cc` (the fields' contents).
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
    // The address of the nested exception; there is none.
    buffer.append(UInt64(0))
    buffer.append(exception.address ?? exception.systemCall?.address ?? 0 as Address)
    buffer.append(UInt32(truncatingIfNeeded: parameters.count))
    buffer.append(UInt32(0))
    for index in 0..<15 { buffer.append(index < parameters.count ? parameters[index] : 0) }
    buffer.append(context)
    return buffer.location(from: start)
  }

  /// The parts of siginfo_t other than the address: the number and architecture of a system call, or the sender's
  /// process ID, the sender's user ID, and the signal's value.
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

extension MinidumpDecoder {
  /// Reads MINIDUMP_EXCEPTION_STREAM.
  ///
  /// If the dump was taken without a crash, `signal` stays nil. If the minidump is from an operating system other than
  /// Linux, the exception's code is stored in `foreign`. If there are several exceptions, the one that most likely
  /// ended the process is used.
  mutating func decodeException() {
    let ranks = file.exceptions.map(endingRank)
    guard let rank = ranks.max(), let index = ranks.firstIndex(of: rank) else { return }
    let stream = file.exceptions[index]
    guard stream.count >= 168, let id = file.integer(at: stream.lowerBound, width: 4),
      let number = file.integer(at: stream.lowerBound + 8, width: 4),
      let code = file.integer(at: stream.lowerBound + 12, width: 4),
      let address = file.integer(at: stream.lowerBound + 24, width: 8)
    else {
      file.note("the exception stream is too short")
      return
    }
    var exception = ExceptionSnapshot(threadID: UInt32(truncatingIfNeeded: id))
    // Only this package's own stream contains the kind of the dump request, so the kind stays nil here.
    if isLinux, number == UInt64(UInt32.max) { snapshot.request = DumpRequest() }
    if isLinux {
      takeSignal(number, code: UInt32(truncatingIfNeeded: code), address: address, to: &exception)
    } else {
      let foreign = foreignException(
        at: stream.lowerBound, number: UInt32(truncatingIfNeeded: number),
        flags: UInt32(truncatingIfNeeded: code))
      exception.foreign = foreign
      exception.address = foreign.address(recorded: address)
    }
    let decoded = context(at: stream.lowerBound + 160)
    exception.context = decoded.context
    if let index = snapshot.threads.firstIndex(where: { $0.id == exception.threadID }) {
      // The thread's own context may be from inside the handler, so it is replaced with the exception's context,
      // which is from the moment of the crash.
      if let context = decoded.context {
        snapshot.threads[index].context = context
        snapshot.threads[index].stackPointer = decoded.stackPointer
        snapshot.threads[index].instructionPointer = decoded.instructionPointer
      }
      snapshot.threads[index].captureMethod = .crashed
    }
    snapshot.exception = exception
  }

  /// How likely an exception ended the process, compared with the other exceptions in the file.
  ///
  /// Breakpoints and single steps, at which a debugger had stopped a thread, rank below faults.
  ///
  /// Source: signal(7), "Core"; Microsoft MS-ERREF, 2.3 (severity of an NTSTATUS); XNU osfmk/mach/exception_types.h.
  private func endingRank(of stream: Range<Int>) -> Int {
    guard let wide = file.integer(at: stream.lowerBound + 8, width: 4), stream.count >= 168 else {
      return -1
    }
    let number = UInt32(truncatingIfNeeded: wide)
    let (isFault, isStop): (Bool, Bool) =
      switch platform ?? 0 {
      case _ where isLinux:
        ([3, 4, 6, 7, 8, 11, 24, 25, 31].contains(number), number == 5)
      case MinidumpFormat.macOS, MinidumpFormat.iOS: (number != 0 && number != 6, number == 6)
      default: (number >> 30 == 3, number >> 30 == 2)
      }
    return isFault ? 2 : isStop ? 1 : 0
  }

  /// Reads number, code and address of a signal; reads nothing if the number is not that of a signal.
  ///
  /// Older versions of Breakpad record 0 instead of `si_code`, and 0 would mean that kill(2) sent the signal. So a code
  /// of 0 is used only in minidumps of Crashpad and of this package. If the code is 0 in another minidump,
  /// `exception.code` stays nil, and the address is used if the kernel gives signals of that number an address.
  private func takeSignal(
    _ number: UInt64, code: UInt32, address: UInt64, to exception: inout ExceptionSnapshot
  ) {
    guard (1...64).contains(number) else { return }
    exception.signal = Int32(truncatingIfNeeded: number)
    guard code != 0 || file.streams[.crashpadInfo] != nil || file.streams[.postmortemDump] != nil
    else {
      if ExceptionSnapshot.hasAddress(signal: exception.signal, code: 1) {
        exception.address = Address(address)
      }
      return
    }
    exception.code = Int32(bitPattern: code)
    if ExceptionSnapshot.hasAddress(signal: exception.signal, code: exception.code) {
      exception.address = Address(address)
    }
  }

  private func foreignException(at start: Int, number: UInt32, flags: UInt32) -> ForeignException {
    let platform = platform ?? 0
    let system: ForeignException.System =
      switch platform {
      case MinidumpFormat.windows: .windows
      case MinidumpFormat.macOS, MinidumpFormat.iOS: .apple
      default: .other(platform)
      }
    let count = min(Int(clamping: file.integer(at: start + 32, width: 4) ?? 0), 15)
    return ForeignException(
      system: system, code: number, flags: flags,
      parameters: (0..<count).compactMap { file.integer(at: start + 40 + 8 * $0, width: 8) })
  }
}
