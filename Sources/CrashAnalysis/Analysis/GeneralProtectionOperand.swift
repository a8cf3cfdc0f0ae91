internal import IntermediateDump
internal import ProcessSnapshot

/// What the memory operand of an instruction shows about a general protection fault of x86_64.
///
/// The processor raises this fault for an address that is not canonical, and for an address that is not a multiple of 16
/// if the instruction requires one, as most SSE instructions do.
///
/// Source: Intel SDM volume 1, 4.1.1 (Alignment); volume 3, 6.15, interrupt 13 (#GP).
struct GeneralProtectionOperand {
  /// The address that the instruction most likely requires to be a multiple of 16, and that is none.
  let misaligned: Address?
  /// The general registers whose values cannot be addresses: those of the operand and those from which they may have
  /// been masked, or all if the operand is not known.
  let suspects: [Cause.Register]

  init(of context: CPUContext, in snapshot: ProcessSnapshot, _ code: CodeReader) {
    // In a sanitized report, values of registers may have been replaced.
    let known = context.generalRegisters.filter {
      $0.value != IntermediateDumpFormat.replacedWord
    }
    let values = Dictionary(known, uniquingKeysWith: { first, _ in first })
    let operands = MemoryOperand.all(at: context, code) ?? []
    let addresses = operands.flatMap { $0.addresses { values[$0] } }
    let wild = known.filter { !snapshot.isCanonical(Address($0.value)) }
    let operand = wild.filter { register in
      operands.contains { $0.registers.contains(register.name) }
    }
    let used = wild.filter { register in
      operand.contains { $0.value & register.value == $0.value }
    }
    suspects = (used.isEmpty ? wild : used).map {
      Cause.Register(name: $0.name, value: $0.value)
    }
    misaligned =
      Self.isVectorAccess(code.bytes(at: context.instructionPointer, upTo: 15) ?? [])
        && addresses.allSatisfy(snapshot.isCanonical)
      ? addresses.first { $0.value & 15 != 0 } : nil
  }

  /// True if an instruction may be one of SSE or AVX: its opcode has several bytes.
  private static func isVectorAccess(_ code: [UInt8]) -> Bool {
    let opcodes: Set<UInt8> = [0x0F, 0xC4, 0xC5, 0x62]
    let opcode = code.first { ![0x66, 0xF2, 0xF3].contains($0) && $0 & 0xF0 != 0x40 }
    return opcode.map(opcodes.contains) ?? false
  }
}
