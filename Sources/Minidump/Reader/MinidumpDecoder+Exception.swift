internal import ProcessSnapshot

extension MinidumpDecoder {
  /// MINIDUMP_EXCEPTION_STREAM.
  ///
  /// Numbers that are no signals (a dump taken without a crash, another system) are left out.
  mutating func decodeException() {
    guard let stream = file.streams[.exception] else { return }
    guard stream.count >= 168, let id = file.integer(at: stream.lowerBound, width: 4),
      let number = file.integer(at: stream.lowerBound + 8, width: 4),
      let code = file.integer(at: stream.lowerBound + 12, width: 4),
      let address = file.integer(at: stream.lowerBound + 24, width: 8)
    else {
      file.note("the exception stream is too short")
      return
    }
    var exception = ExceptionSnapshot(threadID: UInt32(truncatingIfNeeded: id))
    // Of which kind is for our own stream to say.
    if isLinux, number == UInt64(UInt32.max) { snapshot.request = DumpRequest() }
    if isLinux, (1...64).contains(number) {
      exception.signal = Int32(truncatingIfNeeded: number)
      exception.code = Int32(bitPattern: UInt32(truncatingIfNeeded: code))
      if ExceptionSnapshot.hasAddress(signal: exception.signal, code: exception.code) {
        exception.address = Address(address)
      }
    }
    let decoded =
      file.location(at: stream.lowerBound + 160).map { decodeContext($0) } ?? DecodedContext()
    exception.context = decoded.context
    if let index = snapshot.threads.firstIndex(where: { $0.id == exception.threadID }) {
      // The thread's own context may be one of the handler; the exception's is that of the crash.
      if let context = decoded.context {
        snapshot.threads[index].context = context
        snapshot.threads[index].stackPointer = decoded.stackPointer
        snapshot.threads[index].instructionPointer = decoded.instructionPointer
      }
      snapshot.threads[index].captureMethod = .crashed
    }
    snapshot.exception = exception
  }
}
