internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

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
      let (metadata, displacement) = slot(of: call, before: Address(returnAddress), context),
      let head = metadataHead(Address(metadata)),
      let sizes = head.littleEndian(at: ClassMetadata.sizesOffset, width: 8),
      let descriptor = head.littleEndian(at: ClassMetadata.descriptorOffset, width: 8),
      head.littleEndian(at: 0, width: 8) == 0,
      ClassMetadata.isPlausible(sizes: sizes, descriptor: descriptor),
      displacement >= (sizes & 0xFFFF_FFFF) &- sizes >> 32,
      displacement < 1 << 16
    else { return nil }
    // The word from which the address was read may not be in the dump.
    let target = snapshot.memory.word(at: Address(metadata &+ displacement))
    guard target == nil || target == context.rip else { return nil }
    return CPUContext.x86_64(context).generalRegisters
      .first { snapshot.memory.word(at: Address($0.value)) == metadata }
      .map { Address($0.value) }
  }

  /// The metadata, and the offset in it, from which an indirect call has read the address that it called.
  ///
  /// Without optimization, an instruction before the call reads the address into a register. The object's address is in
  /// the register of `self`.
  ///
  /// Source: Swift docs/ABI/RegisterUsage.md.
  private func slot(
    of call: [UInt8], before returnAddress: Address, _ context: X86_64Context
  ) -> (metadata: UInt64, displacement: UInt64)? {
    if let operand = MemoryOperand.all(x86: call).first {
      let registers = CPUContext.x86_64(context).generalRegisters
      guard operand.index == nil,
        let metadata = registers.first(where: { $0.name == operand.base })?.value
      else { return nil }
      return (metadata, operand.displacement)
    }
    // In C code, r13 may still contain an object of its caller.
    let caller = trace.frames.dropFirst().first { !$0.isInlined }?.linkageName
    let prefix: UInt8 = call.first == 0x41 ? 8 : 0
    guard let mode = call.last, mode >= 0xC0, caller?.hasPrefix("$s") ?? false,
      let metadata = snapshot.memory.word(at: Address(context.r13)),
      let before = code.bytes(
        at: returnAddress &- UInt64(call.count) &- Self.loadDistance,
        count: Int(clamping: Self.loadDistance))
    else { return nil }
    let displacement = Self.loads(into: mode & 7 | prefix, in: before)
    return displacement.map { (metadata, $0) }
  }

  /// The maximum number of bytes between a call and the instruction that reads the called address.
  private static let loadDistance: UInt64 = 32

  /// The constant in the last instruction that loads a register from memory at another register plus a constant; nil if
  /// there is none.
  ///
  /// Source: Intel SDM volume 2, MOV.
  private static func loads(into register: UInt8, in code: [UInt8]) -> UInt64? {
    code.indices.reversed().lazy.compactMap { index -> UInt64? in
      guard index + 3 < code.count, code[index] & 0xF8 == 0x48, code[index + 1] == 0x8B else {
        return nil
      }
      let mode = code[index + 2]
      let target = mode >> 3 & 7 | (code[index] & 4) << 1
      // The register contained the metadata, and then the address.
      let base = mode & 7 | (code[index] & 1) << 3
      guard target == register, base == register, mode & 7 != 4 else { return nil }
      return switch mode >> 6 {
      case 1: UInt64(code[index + 3] & 0x7F)
      case 2: code.littleEndian(at: index + 3, as: UInt32.self).map { UInt64($0) }
      default: nil
      }
    }.first
  }

  private func metadataHead(_ address: Address) -> [UInt8]? {
    snapshot.memory.bytes(at: address, count: ClassMetadata.size).map { Array($0) }
  }
}

// MARK: - A method that runs on an object of another class

// The object was used as if it were of that class, or the memory of an object of that class was freed and used again.

extension FaultSite {
  /// The object to which the register of `self` points, if the method at the fault belongs to none of the object's
  /// classes; nil if it belongs to one, or if the register may contain something else by now.
  ///
  /// Source: Swift docs/ABI/RegisterUsage.md, r13.
  var foreignSelf: Address? {
    guard case .x86_64(let context)? = exception.context,
      let frame = trace.frames.first(where: { frame in
        !frame.isInlined && frame.linkageName.map(ReferenceCounting.isFunction) != true
      }), let name = frame.linkageName, let method = MethodClass.name(ofMethod: name),
      let offset = frame.symbol?.offset, keepsSelf(frame.lookupAddress, after: offset)
    else { return nil }
    let object = Address(context.r13)
    let objects = ObjectReader(of: snapshot, symbols: code.symbols)
    guard let classes = objects.classes(of: object), !classes.contains(method) else { return nil }
    return object
  }

  /// The maximum number of bytes of a method that are searched.
  private static let methodSize: UInt64 = 2048

  /// True if no instruction of a method from its beginning to an address can have changed r13.
  ///
  /// Code that follows the address must not jump back, because it may have changed the register.
  private func keepsSelf(_ address: Address, after offset: UInt64) -> Bool {
    guard offset <= Self.methodSize,
      let start = code.bytes(at: address &- offset, count: Int(clamping: offset)),
      !RegisterWrites.changeSelf(start)
    else { return false }
    let rest = code.bytes(at: address, upTo: Int(clamping: Self.methodSize)) ?? []
    return !RegisterWrites.jumpsBack(rest, by: offset)
  }
}
