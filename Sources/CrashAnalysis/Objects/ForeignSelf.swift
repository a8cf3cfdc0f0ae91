internal import IntermediateDump
internal import ProcessSnapshot

/// The class to which a method belongs.
enum MethodClass {
  /// The name of the class, such as "App.Ledger"; nil for a function that is not known to be an instance method of a
  /// class.
  ///
  /// Source: Swift docs/ABI/Mangling.rst. Only names without substitutions are read. Accessors are left out, because the
  /// optimizer merges equal ones of several classes.
  static func name(ofMethod mangled: String) -> String? {
    guard mangled.hasPrefix("$s"), mangled.hasSuffix("F"), !mangled.hasSuffix("YaF") else {
      return nil
    }
    var rest = mangled.utf8.dropFirst(2)
    guard let module = identifier(&rest) else { return nil }
    var (names, isClass) = ([module], false)
    while let name = identifier(&rest) {
      if rest.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) ?? false {
        // The name of the file follows a private name.
        guard identifier(&rest) != nil, rest.starts(with: "LL".utf8) else { break }
        rest = rest.dropFirst(2)
      }
      guard let kind = rest.first, "CVO".utf8.contains(kind) else { break }
      rest = rest.dropFirst()
      names.append(name)
      isClass = kind == UInt8(ascii: "C")
    }
    return isClass ? names.joined(separator: ".") : nil
  }

  private static func identifier(_ text: inout Substring.UTF8View.SubSequence) -> String? {
    let digits = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard digits.first != UInt8(ascii: "0"), let count = Int(String(Substring(digits))),
      count <= 255, text.count >= digits.count + count
    else { return nil }
    let name = text.dropFirst(digits.count).prefix(count)
    text = text.dropFirst(digits.count + count)
    return String(Substring(name))
  }
}

extension ObjectReader {
  /// Source: swift include/swift/ABI/Metadata.h, TargetClassMetadata.
  private static let superclassOffset: UInt64 = 8

  /// The names of an object's class and of its superclasses, without generic arguments; nil if one cannot be read, or if
  /// there is no object of a class at the address.
  func classes(of address: Address) -> [String]? {
    guard let object = object(at: address), object.kind == .object,
      var metadata = reader.word(address)
    else { return nil }
    var names: [String] = []
    while metadata != 0 {
      guard names.count < 16, let name = name(ofClass: Address(metadata)),
        let next = reader.word(Address(metadata) &+ Self.superclassOffset)
      else { return nil }
      names.append(String(name.qualified.prefix { $0 != "<" }))
      metadata = next
    }
    return names
  }
}

/// Searches code of x86_64 without decoding each instruction: any bytes that look like a write or a jump count as one.
enum RegisterWrites {
  /// True if an instruction that may be in the code can change r13.
  ///
  /// Source: Intel SDM volume 2, 2.2.1 (REX) and appendix A.
  static func changeSelf(_ code: [UInt8]) -> Bool {
    zip(code.indices, code).contains { index, prefix in
      guard prefix & 0xF0 == 0x40, index + 2 < code.count else { return false }
      let (opcode, mode) = (code[index + 1], code[index + 2])
      // pop, and mov of a constant.
      if prefix & 1 == 1, [0x5D, 0xBD].contains(opcode) { return true }
      let isRegister = mode >= 0xC0
      let isInReg = prefix & 4 == 4 && mode >> 3 & 7 == 5
      let isInRM = prefix & 1 == 1 && isRegister && mode & 7 == 5
      // mov, cmp, test and push leave the register that they read unchanged.
      if [0x39, 0x3B, 0x85, 0x63].contains(opcode) { return opcode == 0x63 && isInReg }
      if opcode == 0x89 { return isInRM }
      if [0x8B, 0x8D].contains(opcode) { return isInReg }
      if opcode == 0x83 || opcode == 0x81 { return isInRM && mode >> 3 & 7 != 7 }
      return opcode != 0xFF && opcode != 0x55 && isRegister && (isInReg || isInRM)
    }
  }

  private static let operandOpcodes: Set<UInt8> = [0x39, 0x3B, 0x83, 0x85, 0x89, 0x8B, 0x8D, 0xC7]

  /// True if an instruction that may be in the code jumps to one of the `count` bytes before it.
  static func jumpsBack(_ code: [UInt8], by count: UInt64) -> Bool {
    func leads(_ end: Int, _ distance: Int64) -> Bool {
      let target = Int64(clamping: end) &+ distance
      return target < 0 && target >= 0 &- Int64(clamping: count)
    }
    return zip(code.indices, code).contains { index, opcode in
      // After one of these opcodes, the byte is an operand.
      if index > 0, operandOpcodes.contains(code[index - 1]) { return false }
      if opcode == 0xEB || opcode & 0xF0 == 0x70, index + 1 < code.count {
        return leads(index + 2, Int64(Int8(bitPattern: code[index + 1])))
      }
      guard opcode == 0xE9 || opcode & 0xF0 == 0x80, index + 4 < code.count,
        let distance = code.littleEndian(at: index + 1, as: UInt32.self)
      else { return false }
      return leads(index + 5, Int64(Int32(bitPattern: distance)))
    }
  }
}
