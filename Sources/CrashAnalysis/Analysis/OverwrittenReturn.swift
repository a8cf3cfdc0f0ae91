internal import IntermediateDump
internal import ProcessSnapshot

extension FaultSite {
  /// The address to which a `ret` was about to return when the processor stopped it; nil for another instruction.
  ///
  /// The processor reports a general protection fault at the `ret`, if the address is not canonical.
  func stoppedReturn(_ code: [UInt8]?) -> Address? {
    guard snapshot.architecture == .x86_64, let code, let context = exception.context else {
      return nil
    }
    let opcode = code.first { $0 != 0xF3 && $0 != 0xF2 }
    guard opcode == 0xC3 || opcode == 0xC2,
      let address = snapshot.memory.word(at: context.stackPointer),
      address != IntermediateDumpFormat.replacedWord, !snapshot.isCanonical(Address(address))
    else { return nil }
    return Address(address)
  }

  /// True if a function returned to the faulting address.
  ///
  /// After a return, the address is still below the stack pointer on x86_64, and in x30 on arm64. After a call, the
  /// return address is above the stack pointer or in x30.
  func isReturn(to address: Address) -> Bool {
    switch exception.context {
    case .x86_64(let context)?:
      let top = Address(context.rsp)
      guard snapshot.memory.word(at: top &- 8) == address.value,
        let next = snapshot.memory.word(at: top)
      else { return false }
      let isData =
        !snapshot.mappings.isEmpty
        && snapshot.mapping(containing: Address(next))?.protection.contains(.execute) != true
      return isData || code.isReturnAddress(Address(next)) == false
    case .arm64(let context)?: return context.x[30] == address.value
    case nil: return false
    }
  }
}
