internal import ProcessSnapshot

/// Runs call frame instructions up to one address, to compute the unwind rules there.
///
/// Source: DWARF 5, 6.4.2 (call frame instructions) and 7.24 (their encoding).
/// Source: Linux Standard Base Core, 10.5.2 (GNU extensions); DWARF for the Arm 64-bit Architecture, 4.4.
struct CFIProgram {
  /// The maximum number of states that DW_CFA_remember_state can store at a time; compilers need fewer.
  private static let maximumDepth = 64

  private let cie: CIE
  /// The code address for which the rules are computed; instructions for code after this address are not run.
  private var target: Address
  private var row: CFIRow
  private var initial: CFIRow?
  private var remembered: [CFIRow] = []
  private var location: Address
  /// The position in the section that corresponds to index 0 of the instructions.
  private var origin: UInt64

  /// Computes the rules at an address in the FDE's range; nil if an instruction is damaged or unknown, or no rule gives
  /// the CFA.
  static func row(of fde: FDE, at target: Address, registerCount: Int) -> CFIRow? {
    var program = CFIProgram(of: fde, at: target, registerCount: registerCount)
    var instructions = fde.instructions
    guard program.begin(fde), program.run(&instructions) else { return nil }
    return program.finishedRow(fde)
  }

  /// Computes the rules for a whole FDE, one address range after another, up to the first damaged instruction.
  ///
  /// - Parameter body: receives each range with its rules; nil for a range without rules.
  static func visitRows(
    of fde: FDE, registerCount: Int, _ limit: WorkLimit, _ body: (AddressRange, CFIRow?) -> Void
  ) {
    var program = CFIProgram(of: fde, at: fde.range.start, registerCount: registerCount)
    guard program.begin(fde) else { return }
    var instructions = fde.instructions
    let end = fde.range.clampedEnd
    var start = fde.range.start
    while start < end, limit.spend(registerCount) {
      program.target = start
      guard program.run(&instructions) else { return }
      let next = program.location > start ? min(program.location, end) : end
      body(AddressRange(from: start, to: next), program.finishedRow(fde))
      start = next
    }
  }

  /// Runs the instructions of the FDE's CIE, which give the initial row; returns false if the instructions are damaged.
  private mutating func begin(_ fde: FDE) -> Bool {
    var instructions = fde.cie.instructions
    guard run(&instructions) else { return false }
    initial = row
    remembered = []
    origin = fde.origin
    location = fde.range.start
    return true
  }

  private func finishedRow(_ fde: FDE) -> CFIRow? {
    guard row.cfa != nil, let register = Int(exactly: fde.cie.returnAddressRegister),
      register < row.rules.count
    else { return nil }
    var row = row
    row.returnAddressRegister = register
    row.isSignalFrame = fde.cie.isSignalFrame
    return row
  }

  private init(of fde: FDE, at target: Address, registerCount: Int) {
    cie = fde.cie
    self.target = target
    row = CFIRow(registerCount: registerCount)
    location = fde.range.start
    origin = fde.cie.origin
  }

  /// Runs instructions until one moves past the target address.
  ///
  /// The result is false if an instruction is damaged or not supported, or if more than `maximumDepth` states are
  /// remembered.
  private mutating func run(_ cursor: inout DWARFCursor) -> Bool {
    while !cursor.isAtEnd {
      guard let instruction = cursor.read(UInt8.self) else { return false }
      let operand = UInt64(instruction & 0x3F)
      switch instruction & 0xC0 {
      case 0x40: advance(operand)  // DW_CFA_advance_loc
      case 0x80:  // DW_CFA_offset
        guard let factor = cursor.readULEB() else { return false }
        set(operand, .offset(factored(factor)))
      case 0xC0: restore(operand)  // DW_CFA_restore
      default: guard execute(instruction, &cursor) else { return false }
      }
      if location > target { return true }
    }
    return true
  }

  private mutating func execute(_ instruction: UInt8, _ cursor: inout DWARFCursor) -> Bool {
    switch instruction {
    case 0x00: return true  // DW_CFA_nop
    case 0x01...0x04: return moveLocation(instruction, &cursor)
    case 0x0C...0x0F, 0x12, 0x13: return defineCFA(instruction, &cursor)
    case 0x0A:  // DW_CFA_remember_state
      guard remembered.count < Self.maximumDepth else { return false }
      remembered.append(row)
      return true
    case 0x0B:  // DW_CFA_restore_state
      guard let last = remembered.popLast() else { return false }
      row = last
      return true
    // DW_CFA_AARCH64_negate_ra_state and its variant with the PC are ignored, because the stack walk always removes
    // pointer signatures.
    case 0x2D, 0x2C: return true
    // DW_CFA_GNU_args_size is skipped, because only landing pads need it.
    case 0x2E: return cursor.readULEB() != nil
    default:
      guard let register = cursor.readULEB() else { return false }
      return setRule(instruction, register, &cursor)
    }
  }

  private mutating func moveLocation(_ instruction: UInt8, _ cursor: inout DWARFCursor) -> Bool {
    switch instruction {
    case 0x01:  // DW_CFA_set_loc
      guard !cie.pointerEncoding.isIndirect,
        let address = cursor.readPointer(cie.pointerEncoding, section: origin)
      else { return false }
      location = Address(address)
    default:  // DW_CFA_advance_loc1, 2 and 4
      let width = instruction == 0x02 ? 1 : instruction == 0x03 ? 2 : 4
      guard let delta = cursor.readUnsigned(width: width) else { return false }
      advance(delta)
    }
    return true
  }

  private mutating func defineCFA(_ instruction: UInt8, _ cursor: inout DWARFCursor) -> Bool {
    switch instruction {
    case 0x0C:  // DW_CFA_def_cfa
      guard let register = cursor.readULEB(), let offset = cursor.readULEB() else { return false }
      row.cfa = .register(register, offset: Int64(bitPattern: offset))
    case 0x12:  // DW_CFA_def_cfa_sf
      guard let register = cursor.readULEB(), let factor = cursor.readSLEB() else { return false }
      row.cfa = .register(register, offset: factor &* cie.dataAlignment)
    case 0x0D:  // DW_CFA_def_cfa_register
      guard let register = cursor.readULEB(),
        case .register(_, let offset)? = row.cfa
      else { return false }
      row.cfa = .register(register, offset: offset)
    case 0x0E:  // DW_CFA_def_cfa_offset
      guard let offset = cursor.readULEB(), case .register(let register, _)? = row.cfa
      else { return false }
      row.cfa = .register(register, offset: Int64(bitPattern: offset))
    case 0x13:  // DW_CFA_def_cfa_offset_sf
      guard let factor = cursor.readSLEB(), case .register(let register, _)? = row.cfa
      else { return false }
      row.cfa = .register(register, offset: factor &* cie.dataAlignment)
    default:  // DW_CFA_def_cfa_expression
      guard let expression = readBlock(&cursor) else { return false }
      row.cfa = .expression(expression)
    }
    return true
  }

  /// Runs an instruction that changes the rule of a register, which is the instruction's first operand.
  private mutating func setRule(
    _ instruction: UInt8, _ register: UInt64, _ cursor: inout DWARFCursor
  ) -> Bool {
    let rule: RegisterRule?
    switch instruction {
    case 0x05: rule = cursor.readULEB().map { .offset(factored($0)) }
    case 0x06:  // DW_CFA_restore_extended
      restore(register)
      return true
    case 0x07: rule = .undefined
    case 0x08: rule = .sameValue
    case 0x09: rule = cursor.readULEB().map { .register($0) }
    case 0x10: rule = readBlock(&cursor).map { .expression($0) }
    case 0x11: rule = cursor.readSLEB().map { .offset($0 &* cie.dataAlignment) }
    case 0x14: rule = cursor.readULEB().map { .valueOffset(factored($0)) }
    case 0x15: rule = cursor.readSLEB().map { .valueOffset($0 &* cie.dataAlignment) }
    case 0x16: rule = readBlock(&cursor).map { .valueExpression($0) }
    // The instruction DW_CFA_GNU_negative_offset_extended.
    case 0x2F: rule = cursor.readULEB().map { .offset(0 &- factored($0)) }
    default: return false
    }
    guard let rule else { return false }
    set(register, rule)
    return true
  }

  private func factored(_ factor: UInt64) -> Int64 {
    Int64(bitPattern: factor) &* cie.dataAlignment
  }

  private mutating func advance(_ delta: UInt64) {
    location = location &+ delta &* cie.codeAlignment
  }

  private func readBlock(_ cursor: inout DWARFCursor) -> ArraySlice<UInt8>? {
    cursor.readULEB().flatMap { cursor.readBytes(count: $0) }
  }

  private mutating func set(_ register: UInt64, _ rule: RegisterRule) {
    guard let index = Int(exactly: register), index < row.rules.count else { return }
    row.rules[index] = rule
  }

  private mutating func restore(_ register: UInt64) {
    guard let index = Int(exactly: register), index < row.rules.count else { return }
    row.rules[index] = initial?.rules[index] ?? .unspecified
  }
}

/// How to restore the caller's value of one register.
///
/// Source: DWARF 5, 6.4.1 (register rules).
enum RegisterRule: Equatable {
  /// There is no rule, so the calling convention decides whether the register still has the caller's value.
  case unspecified
  case undefined
  case sameValue
  /// The register is saved in memory at the CFA plus this number of bytes.
  case offset(Int64)
  /// The register's value is the CFA plus this number.
  case valueOffset(Int64)
  case register(UInt64)
  /// The register is saved in memory at the address that an expression computes.
  case expression(ArraySlice<UInt8>)
  /// The register's value is the result of an expression.
  case valueExpression(ArraySlice<UInt8>)
}

/// How to compute the canonical frame address (CFA), which is the stack pointer before the call.
enum CFARule: Equatable {
  case register(UInt64, offset: Int64)
  case expression(ArraySlice<UInt8>)
}

/// The unwind rules at one address.
struct CFIRow {
  var cfa: CFARule?
  /// The rules by DWARF register number, only for the registers that `RegisterMap` tracks.
  var rules: [RegisterRule]
  /// The DWARF number of the register whose rule finds the return address.
  var returnAddressRegister: Int = 0
  var isSignalFrame = false
  /// The difference between an address in the process and the same address in the file.
  var loadBias: UInt64 = 0

  init(registerCount: Int) {
    rules = Array(repeating: .unspecified, count: registerCount)
  }
}
