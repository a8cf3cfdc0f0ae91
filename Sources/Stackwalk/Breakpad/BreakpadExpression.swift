/// Turns DWARF's rules for restoring registers into Breakpad's postfix expressions.
///
/// Breakpad supports the operations +, -, *, /, %, @ (align) and ^ (dereference). This type uses only +, -, * and ^; a
/// rule that needs another operation is not converted.
///
/// Source: Breakpad's docs/symbol_files.md ("STACK CFI records"), processor/postfix_evaluator.h; DWARF 5, 2.5.1.
struct BreakpadExpression {
  /// The maximum number of bytes of an expression; compilers usually write much shorter ones.
  private static let maximumLength = 512
  private static let maximumDepth = 16

  /// Register names by DWARF number; empty for a register that the format does not name.
  let registers: [String]

  func name(_ number: UInt64) -> String? {
    guard let index = Int(exactly: number), index < registers.count, !registers[index].isEmpty
    else { return nil }
    return registers[index]
  }

  /// Returns the postfix expression that computes the canonical frame address (CFA); nil if the rule cannot be written
  /// as one.
  func text(_ rule: CFARule?) -> String? {
    switch rule {
    case .register(let number, let offset): name(number).map { Self.sum($0, offset) }
    case .expression(let bytes): text(bytes, initial: nil)
    case nil: nil
    }
  }

  /// Returns the expression that computes the caller's value of a register; nil if the rule cannot be expressed.
  ///
  /// - Parameter number: the register's DWARF number, which is needed for a register whose value did not change.
  func text(_ rule: RegisterRule, of number: UInt64) -> String? {
    switch rule {
    case .unspecified, .undefined: nil
    case .sameValue: name(number)
    case .offset(let offset): Self.sum(".cfa", offset) + " ^"
    case .valueOffset(let offset): Self.sum(".cfa", offset)
    case .register(let other): name(other)
    case .expression(let bytes): text(bytes, initial: ".cfa").map { $0 + " ^" }
    case .valueExpression(let bytes): text(bytes, initial: ".cfa")
    }
  }

  private static func sum(_ term: String, _ offset: Int64) -> String {
    offset == 0 ? term : "\(term) \(offset.magnitude) \(offset < 0 ? "-" : "+")"
  }

  /// A number as it is written in Breakpad's expressions.
  ///
  /// The format has only unsigned numbers, so a negative number becomes a difference.
  private static func constant(_ value: Int64) -> String {
    value < 0 ? "0 \(value.magnitude) -" : "\(value)"
  }

  private func text(_ bytes: ArraySlice<UInt8>, initial: String?) -> String? {
    var cursor = DWARFCursor(Array(bytes))
    var stack = initial.map { [$0] } ?? []
    while !cursor.isAtEnd {
      guard step(&cursor, &stack), stack.count <= Self.maximumDepth,
        stack.allSatisfy({ $0.utf8.count <= Self.maximumLength })
      else { return nil }
    }
    return stack.last
  }

  private func step(_ cursor: inout DWARFCursor, _ stack: inout [String]) -> Bool {
    guard let operation = cursor.read(UInt8.self) else { return false }
    switch operation {
    case 0x30...0x4F: return push(Self.constant(Int64(operation) &- 0x30), &stack)
    case 0x70...0x8F:  // DW_OP_breg0 to 31
      return push(register(UInt64(operation) &- 0x70, &cursor), &stack)
    case 0x92:  // DW_OP_bregx
      guard let number = cursor.readULEB() else { return false }
      return push(register(number, &cursor), &stack)
    case 0x08...0x11: return push(constant(operation, &cursor), &stack)
    case 0x06: return push(stack.popLast().map { $0 + " ^" }, &stack)  // DW_OP_deref
    case 0x12: return push(stack.last, &stack)  // DW_OP_dup
    case 0x13: return stack.popLast() != nil  // DW_OP_drop
    case 0x14: return stack.count >= 2 && push(stack[stack.count - 2], &stack)  // DW_OP_over
    case 0x16:  // DW_OP_swap
      guard stack.count >= 2 else { return false }
      stack.swapAt(stack.count - 1, stack.count - 2)
      return true
    case 0x1C, 0x1E, 0x22:  // DW_OP_minus, DW_OP_mul, DW_OP_plus
      guard let right = stack.popLast(), let left = stack.popLast() else { return false }
      return push(
        "\(left) \(right) \(operation == 0x1C ? "-" : operation == 0x1E ? "*" : "+")", &stack)
    case 0x23:  // DW_OP_plus_uconst
      guard let left = stack.popLast(), let count = cursor.readULEB() else { return false }
      return push("\(left) \(count) +", &stack)
    case 0x96: return true  // DW_OP_nop
    default: return false
    }
  }

  private func push(_ text: String?, _ stack: inout [String]) -> Bool {
    guard let text else { return false }
    stack.append(text)
    return true
  }

  private func register(_ number: UInt64, _ cursor: inout DWARFCursor) -> String? {
    guard let offset = cursor.readSLEB(), let name = name(number) else { return nil }
    return Self.sum(name, offset)
  }

  private func constant(_ operation: UInt8, _ cursor: inout DWARFCursor) -> String? {
    cursor.readConstant(operation).map { value in
      operation & 1 == 0 ? "\(value)" : Self.constant(Int64(bitPattern: value))
    }
  }
}
