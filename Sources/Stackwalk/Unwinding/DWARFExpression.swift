/// The registers and the memory of the crashed process that an expression can read.
protocol ExpressionContext {
  func register(_ number: UInt64) -> UInt64?
  /// Reads a little-endian number of 1 to 8 bytes.
  func memory(at address: UInt64, width: Int) -> UInt64?
  /// The difference between an address in the process and the same address in the file.
  var loadBias: UInt64 { get }
  /// Counts one step of work; returns false if the limit is reached.
  func spend() -> Bool
}

/// Evaluates DWARF expressions with the operations that call frame information may use.
///
/// Source: DWARF 5, 2.5.1, 6.4.2 (the operations that are excluded) and 7.7.1.
struct DWARFExpression {
  private static let maximumSteps = 4096
  private static let maximumDepth = 128

  private let bytes: [UInt8]
  private var cursor: DWARFCursor
  private var stack: [UInt64]

  /// Runs an expression.
  ///
  /// - Parameters:
  ///   - bytes: the operations.
  ///   - initial: the initial stack of the expression; for a register's rule, it contains the CFA.
  /// - Returns: the value on top of the stack; nil if an operation is unknown or needs an unknown value, or
  ///   if a limit is reached.
  static func evaluate(
    _ bytes: ArraySlice<UInt8>, initial: [UInt64], in context: some ExpressionContext
  ) -> UInt64? {
    var expression = DWARFExpression(bytes, initial)
    var steps = 0
    while !expression.cursor.isAtEnd {
      guard steps < maximumSteps, context.spend(), expression.step(context),
        expression.stack.count <= maximumDepth
      else { return nil }
      steps += 1
    }
    return expression.stack.last
  }

  private init(_ bytes: ArraySlice<UInt8>, _ initial: [UInt64]) {
    self.bytes = Array(bytes)
    cursor = DWARFCursor(self.bytes)
    stack = initial
  }

  private mutating func step(_ context: some ExpressionContext) -> Bool {
    guard let operation = cursor.read(UInt8.self) else { return false }
    switch operation {
    case 0x30...0x4F: return push(UInt64(operation &- 0x30))  // DW_OP_lit0 to 31
    case 0x50...0x6F: return false  // DW_OP_reg0 to 31 are locations, not values.
    case 0x70...0x8F:  // DW_OP_breg0 to 31
      return pushRegister(UInt64(operation &- 0x70), context)
    case 0x92:  // DW_OP_bregx
      guard let number = cursor.readULEB() else { return false }
      return pushRegister(number, context)
    case 0x03:  // DW_OP_addr
      return push(cursor.read(UInt64.self).map { $0 &+ context.loadBias })
    case 0x06, 0x94: return dereference(operation, context)
    case 0x08...0x11: return push(cursor.readConstant(operation))
    case 0x12...0x17: return shuffle(operation)
    case 0x19, 0x1F, 0x20, 0x23: return unary(operation)
    case 0x1A...0x27, 0x29...0x2E: return binary(operation)
    case 0x28, 0x2F: return branch(operation)
    case 0x96: return true  // DW_OP_nop
    default: return false
    }
  }

  private mutating func push(_ value: UInt64?) -> Bool {
    guard let value else { return false }
    stack.append(value)
    return true
  }

  private mutating func pushRegister(_ number: UInt64, _ context: some ExpressionContext) -> Bool {
    guard let offset = cursor.readSLEB(), let value = context.register(number) else { return false }
    return push(value &+ UInt64(bitPattern: offset))
  }

  private mutating func dereference(_ operation: UInt8, _ context: some ExpressionContext) -> Bool {
    var width = 8
    if operation == 0x94 {
      guard let size = cursor.read(UInt8.self), (1...8).contains(size) else { return false }
      width = Int(size)
    }
    guard let address = stack.popLast() else { return false }
    return push(context.memory(at: address, width: width))
  }

  private mutating func shuffle(_ operation: UInt8) -> Bool {
    let count = stack.count
    switch operation {
    case 0x12: return push(stack.last)  // DW_OP_dup
    case 0x13: return stack.popLast() != nil  // DW_OP_drop
    case 0x14: return count >= 2 && push(stack[count - 2])  // DW_OP_over
    case 0x15:  // DW_OP_pick
      guard let index = cursor.read(UInt8.self), Int(index) < count else { return false }
      return push(stack[count - 1 - Int(index)])
    case 0x16:  // DW_OP_swap
      guard count >= 2 else { return false }
      stack.swapAt(count - 1, count - 2)
    default:  // DW_OP_rot
      guard count >= 3 else { return false }
      // The top element moves below the next two.
      let top = stack.removeLast()
      stack.insert(top, at: count - 3)
    }
    return true
  }

  private mutating func unary(_ operation: UInt8) -> Bool {
    guard let value = stack.popLast() else { return false }
    switch operation {
    case 0x19: return push(Int64(bitPattern: value) < 0 ? 0 &- value : value)
    case 0x1F: return push(0 &- value)
    case 0x20: return push(~value)
    default: return push(cursor.readULEB().map { value &+ $0 })
    }
  }

  private mutating func binary(_ operation: UInt8) -> Bool {
    guard let right = stack.popLast(), let left = stack.popLast() else { return false }
    let (a, b) = (Int64(bitPattern: left), Int64(bitPattern: right))
    func truth(_ value: Bool) -> UInt64 { value ? 1 : 0 }
    switch operation {
    case 0x1A: return push(left & right)
    case 0x1B:
      guard b != 0 else { return false }
      return push(UInt64(bitPattern: a.dividedReportingOverflow(by: b).partialValue))
    case 0x1C: return push(left &- right)
    case 0x1D: return right != 0 && push(left % right)
    case 0x1E: return push(left &* right)
    case 0x21: return push(left | right)
    case 0x22: return push(left &+ right)
    case 0x24: return push(right < 64 ? left << right : 0)
    case 0x25: return push(right < 64 ? left >> right : 0)
    case 0x26: return push(UInt64(bitPattern: a >> min(right, 63)))
    case 0x27: return push(left ^ right)
    case 0x29: return push(truth(a == b))
    case 0x2A: return push(truth(a >= b))
    case 0x2B: return push(truth(a > b))
    case 0x2C: return push(truth(a <= b))
    case 0x2D: return push(truth(a < b))
    default: return push(truth(a != b))
    }
  }

  private mutating func branch(_ operation: UInt8) -> Bool {
    guard let distance = cursor.read(Int16.self) else { return false }
    if operation == 0x28 {
      guard let condition = stack.popLast() else { return false }
      if condition == 0 { return true }
    }
    let target = cursor.position + Int(distance)
    cursor = DWARFCursor(bytes)
    return cursor.advance(to: target)
  }
}
