internal import IntermediateDump

extension ExceptionSnapshot {
  /// Reads an `exception` map, which a torn dump may lack.
  init(
    reading map: IntermediateDumpMap?, threadID: UInt32,
    architecture: ProcessSnapshot.Architecture, generalRegisters: ArraySlice<UInt8>?
  ) {
    self.init(threadID: threadID)
    if let map { overlay(map) }
    guard architecture == .x86_64, Self.isFault(signal: signal, code: code),
      let generalRegisters, generalRegisters.count >= 23 * 8
    else { return }
    let (trap, error) = (X86_64Context.trapNumberIndex, X86_64Context.errorCodeIndex)
    trapNumber = trapNumber ?? generalRegisters.littleEndian(at: trap * 8, width: 8)
    trapErrorCode = trapErrorCode ?? generalRegisters.littleEndian(at: error * 8, width: 8)
  }

  /// Takes what a map has.
  mutating func overlay(_ map: IntermediateDumpMap) {
    signal = map.signed32(.signalNumber) ?? signal
    code = map.signed32(.signalCode) ?? code
    if Self.hasAddress(signal: signal, code: code) {
      address = map.address(.faultAddress) ?? address
    } else {
      address = nil
    }
    signalInfo = map.array(of: .signalInfo) ?? signalInfo
    trapNumber = map.unsigned(.trapNumber) ?? trapNumber
    trapErrorCode = map.unsigned(.trapErrorCode) ?? trapErrorCode
    fatalMessage = map.text(.fatalMessage) ?? fatalMessage
    abortMessage = map.text(.abortMessage) ?? abortMessage
    senderName = map.text(.senderName) ?? senderName
  }

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
