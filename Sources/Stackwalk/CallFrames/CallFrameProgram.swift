internal import ProcessSnapshot

/// Runs the instructions of a frame description up to one address.
///
/// Source: DWARF 5, 6.4.2 (call frame instructions) and 7.24 (their encoding); Linux Standard Base
/// Core, 10.5.2 (GNU extensions); DWARF for the Arm 64-bit Architecture, 4.4.
struct CallFrameProgram {
  /// More than any compiler nests.
  private static let maximumDepth = 64

  private let common: CommonInformation
  private let target: Address
  private var row: FrameRow
  private var initial: FrameRow?
  private var remembered: [FrameRow] = []
  private var location: Address
  private var origin: UInt64

  /// The rules that hold at an address; nil for instructions that are damaged or not known.
  ///
  /// - Parameter target: an address within the description's range.
  static func row(
    of description: FrameDescription, at target: Address, registerCount: Int
  ) -> FrameRow? {
    let common = description.common
    var program = CallFrameProgram(
      common: common, target: target, row: FrameRow(registerCount: registerCount),
      location: description.range.start, origin: common.origin)
    guard program.run(common.instructions) else { return nil }
    program.initial = program.row
    program.remembered = []
    program.origin = description.origin
    program.location = description.range.start
    guard program.run(description.instructions), program.row.frameAddress != nil,
      let register = Int(exactly: common.returnAddressRegister), register < registerCount
    else { return nil }
    program.row.returnAddressRegister = register
    program.row.isSignalFrame = common.isSignalFrame
    return program.row
  }

  private init(
    common: CommonInformation, target: Address, row: FrameRow, location: Address, origin: UInt64
  ) {
    self.common = common
    self.target = target
    self.row = row
    self.location = location
    self.origin = origin
  }

  /// Stops at the first instruction that holds only behind the target; false for damage.
  private mutating func run(_ instructions: DWARFCursor) -> Bool {
    var cursor = instructions
    while !cursor.isAtEnd {
      guard let instruction = cursor.read(UInt8.self) else { return false }
      let operand = UInt64(instruction & 0x3F)
      switch instruction & 0xC0 {
      case 0x40: advance(operand)
      case 0x80:
        guard let factor = cursor.readULEB() else { return false }
        set(operand, .offset(factored(factor)))
      case 0xC0: restore(operand)
      default: guard execute(instruction, &cursor) else { return false }
      }
      if location > target { return true }
    }
    return true
  }

  private mutating func execute(_ instruction: UInt8, _ cursor: inout DWARFCursor) -> Bool {
    switch instruction {
    case 0x00: return true
    case 0x01...0x04: return moveLocation(instruction, &cursor)
    case 0x0C...0x0F, 0x12, 0x13: return defineFrameAddress(instruction, &cursor)
    case 0x0A:
      guard remembered.count < Self.maximumDepth else { return false }
      remembered.append(row)
      return true
    case 0x0B:
      guard let last = remembered.popLast() else { return false }
      row = last
      return true
    // DW_CFA_AARCH64_negate_ra_state and its variant with the address; on x86_64 nobody writes
    // SPARC's window save, which has the first one's number.
    case 0x2D, 0x2C:
      row.isReturnAddressSigned.toggle()
      return true
    // DW_CFA_GNU_args_size: what the caller pushed; only landing pads need it.
    case 0x2E: return cursor.readULEB() != nil
    default:
      guard let register = cursor.readULEB() else { return false }
      return setRule(instruction, register, &cursor)
    }
  }

  private mutating func moveLocation(_ instruction: UInt8, _ cursor: inout DWARFCursor) -> Bool {
    switch instruction {
    case 0x01:
      let bases = PointerEncoding.Bases(section: origin, data: nil, function: nil)
      guard !common.pointerEncoding.isIndirect,
        let address = cursor.readPointer(common.pointerEncoding, bases: bases)
      else { return false }
      location = Address(address)
    default:
      let width = instruction == 0x02 ? 1 : instruction == 0x03 ? 2 : 4
      guard let delta = cursor.readUnsigned(width: width) else { return false }
      advance(delta)
    }
    return true
  }

  private mutating func defineFrameAddress(
    _ instruction: UInt8, _ cursor: inout DWARFCursor
  ) -> Bool {
    switch instruction {
    case 0x0C:
      guard let register = cursor.readULEB(), let offset = cursor.readULEB() else { return false }
      row.frameAddress = .register(register, offset: Int64(bitPattern: offset))
    case 0x12:
      guard let register = cursor.readULEB(), let factor = cursor.readSLEB() else { return false }
      row.frameAddress = .register(register, offset: factor &* common.dataAlignment)
    case 0x0D:
      guard let register = cursor.readULEB(),
        case .register(_, let offset)? = row.frameAddress
      else { return false }
      row.frameAddress = .register(register, offset: offset)
    case 0x0E:
      guard let offset = cursor.readULEB(), case .register(let register, _)? = row.frameAddress
      else { return false }
      row.frameAddress = .register(register, offset: Int64(bitPattern: offset))
    case 0x13:
      guard let factor = cursor.readSLEB(), case .register(let register, _)? = row.frameAddress
      else { return false }
      row.frameAddress = .register(register, offset: factor &* common.dataAlignment)
    default:
      guard let expression = readBlock(&cursor) else { return false }
      row.frameAddress = .expression(expression)
    }
    return true
  }

  /// The instructions whose first operand is a register.
  private mutating func setRule(
    _ instruction: UInt8, _ register: UInt64, _ cursor: inout DWARFCursor
  ) -> Bool {
    let rule: RegisterRule?
    switch instruction {
    case 0x05: rule = cursor.readULEB().map { .offset(factored($0)) }
    case 0x06:
      restore(register)
      return true
    case 0x07: rule = .undefined
    case 0x08: rule = .sameValue
    case 0x09: rule = cursor.readULEB().map { .register($0) }
    case 0x10: rule = readBlock(&cursor).map { .expression($0) }
    case 0x11: rule = cursor.readSLEB().map { .offset($0 &* common.dataAlignment) }
    case 0x14: rule = cursor.readULEB().map { .valueOffset(factored($0)) }
    case 0x15: rule = cursor.readSLEB().map { .valueOffset($0 &* common.dataAlignment) }
    case 0x16: rule = readBlock(&cursor).map { .valueExpression($0) }
    // DW_CFA_GNU_negative_offset_extended.
    case 0x2F: rule = cursor.readULEB().map { .offset(0 &- factored($0)) }
    default: return false
    }
    guard let rule else { return false }
    set(register, rule)
    return true
  }

  private func factored(_ factor: UInt64) -> Int64 {
    Int64(bitPattern: factor) &* common.dataAlignment
  }

  private mutating func advance(_ delta: UInt64) {
    location = location &+ delta &* common.codeAlignment
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
