internal import IntermediateDump
internal import ProcessSnapshot

extension FaultSite {
  /// The object whose class has no method at the place in its metadata from which the program read the address that it
  /// called; nil for another call.
  ///
  /// The program called a method of another class than the object's, for example after `unsafeDowncast`. What it called
  /// is whatever follows the metadata in memory.
  var objectWithoutMethod: Address? {
    guard case .x86_64(let context)? = exception.context,
      let returnAddress = snapshot.memory.word(at: Address(context.rsp)),
      let call = code.indirectCall(before: Address(returnAddress)),
      let operand = MemoryOperand.all(x86: call).first, operand.index == nil
    else { return nil }
    let registers = CPUContext.x86_64(context).generalRegisters
    guard let metadata = registers.first(where: { $0.name == operand.base })?.value,
      let head = metadataHead(Address(metadata)),
      let sizes = head.littleEndian(at: ClassMetadata.sizesOffset, width: 8),
      let descriptor = head.littleEndian(at: ClassMetadata.descriptorOffset, width: 8),
      head.littleEndian(at: 0, width: 8) == 0,
      ClassMetadata.isPlausible(sizes: sizes, descriptor: descriptor),
      operand.displacement >= (sizes & 0xFFFF_FFFF) &- sizes >> 32
    else { return nil }
    return registers.first { snapshot.memory.word(at: Address($0.value)) == metadata }
      .map { Address($0.value) }
  }

  private func metadataHead(_ address: Address) -> [UInt8]? {
    snapshot.memory.bytes(at: address, count: ClassMetadata.size).map { Array($0) }
  }
}
