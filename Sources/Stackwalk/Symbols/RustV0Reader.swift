/// Reads a name of Rust's mangling version 0.
///
/// Reading never traps, and its depth and the size of the result are limited.
///
/// Source: Rust RFC 2603; The rustc book, "v0 Symbol Format".
struct RustV0Reader {
  private static let maximumDepth = 128
  /// The maximum number of paths, types and constants that are read; backreferences can repeat them very often.
  private static let maximumSteps = 1 << 14
  private let bytes: [UInt8]
  private var position = 2
  private var depth = 0
  private var steps = 0
  private var text = ""
  /// The number of lifetimes that the enclosing binders (`for<...>`) have bound.
  private var boundLifetimes = 0

  private struct Invalid: Error {}

  /// - Parameter bytes: the name, including `_R`.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The demangled name; nil if the name does not follow the grammar.
  mutating func symbol() -> String? {
    do throws(Invalid) {
      try path()
      // A path that follows names the crate that instantiated a generic function, and does not belong to the name.
      if let next = peek, next != UInt8(ascii: "."), next != UInt8(ascii: "$") {
        let end = text
        try path()
        text = end
      }
      guard peek == nil || peek == UInt8(ascii: ".") || peek == UInt8(ascii: "$") else {
        return nil
      }
      return text
    } catch {
      return nil
    }
  }

  // MARK: - Bytes and numbers

  private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func next() throws(Invalid) -> UInt8 {
    guard let byte = peek else { throw Invalid() }
    position += 1
    return byte
  }

  private mutating func takes(_ letter: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: letter) else { return false }
    position += 1
    return true
  }

  private mutating func write(_ words: String) throws(Invalid) {
    text += words
    guard text.utf8.count <= RustName.maximumSize else { throw Invalid() }
  }

  /// Reads a number of base 62, which `_` ends; a larger number than `Int.max`, such as the hash of a crate, is cut.
  private mutating func number() throws(Invalid) -> Int {
    if takes("_") { return 0 }
    var value = 0
    while !takes("_") {
      let byte = try next()
      let digit =
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte &- UInt8(ascii: "A") &+ 36
        default: throw Invalid()
        }
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 62)
      let (sum, carries) = product.addingReportingOverflow(Int(digit))
      value = isTooLarge || carries ? .max : sum
    }
    return Self.successor(of: value)
  }

  private static func successor(of value: Int) -> Int {
    value < .max ? value + 1 : value
  }

  /// Reads the number after a letter that may be missing; 0 if it is missing.
  private mutating func number(after letter: Unicode.Scalar) throws(Invalid) -> Int {
    takes(letter) ? Self.successor(of: try number()) : 0
  }

  private mutating func nested(_ read: (inout Self) throws(Invalid) -> Void) throws(Invalid) {
    depth += 1
    steps += 1
    guard depth <= Self.maximumDepth, steps <= Self.maximumSteps else { throw Invalid() }
    try read(&self)
    depth -= 1
  }

  /// Reads again what an earlier position contains.
  private mutating func backreference(
    _ read: (inout Self) throws(Invalid) -> Void
  ) throws(Invalid) {
    let start = position - 1
    let (target, overflows) = try number().addingReportingOverflow(2)
    guard !overflows, target < start else { throw Invalid() }
    let end = position
    position = target
    try nested(read)
    position = end
  }

  private mutating func list(
    separator: String = ", ", _ read: (inout Self) throws(Invalid) -> Void
  ) throws(Invalid) -> Int {
    var count = 0
    while !takes("E") {
      if count > 0 { try write(separator) }
      try read(&self)
      count += 1
    }
    return count
  }

  // MARK: - Identifiers

  /// Reads an identifier with its disambiguator.
  private mutating func identifier() throws(Invalid) -> (name: String, disambiguator: Int) {
    let disambiguator = try number(after: "s")
    return (try plainIdentifier(), disambiguator)
  }

  private mutating func plainIdentifier() throws(Invalid) -> String {
    let isPunycode = takes("u")
    var count = 0
    guard let first = peek, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first else { throw Invalid() }
    while let byte = peek, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
      count = count * 10 + Int(byte &- UInt8(ascii: "0"))
      position += 1
      guard count <= bytes.count else { throw Invalid() }
      // A number does not begin with 0.
      if count == 0 { break }
    }
    _ = takes("_")
    guard count <= bytes.count - position else { throw Invalid() }
    let part = bytes[position..<(position + count)]
    position += count
    let name = String(decoding: part, as: UTF8.self)
    return isPunycode ? Punycode.decode(name) ?? name : name
  }

  // MARK: - Paths

  private mutating func path() throws(Invalid) {
    try nested { (self) throws(Invalid) in try self.pathBody() }
  }

  private mutating func pathBody() throws(Invalid) {
    switch Unicode.Scalar(try next()) {
    case "C": try write(try identifier().name)
    case "M":
      try skipImplementationPath()
      try write("<")
      try type()
      try write(">")
    case "X":
      try skipImplementationPath()
      try trait()
    case "Y": try trait()
    case "N":
      let namespace = Unicode.Scalar(try next())
      try path()
      let (name, disambiguator) = try identifier()
      switch namespace {
      case "a"..."z": if !name.isEmpty { try write("::" + name) }
      case "A"..."Z":
        let kind = namespace == "C" ? "closure" : namespace == "S" ? "shim" : "\(namespace)"
        try write("::{" + kind + (name.isEmpty ? "" : ":" + name) + "#\(disambiguator)}")
      default: throw Invalid()
      }
    case "I":
      try path()
      try write("<")
      _ = try list { (self) throws(Invalid) in try self.genericArgument() }
      try write(">")
    case "B": try backreference { (self) throws(Invalid) in try self.path() }
    default: throw Invalid()
    }
  }

  private mutating func trait() throws(Invalid) {
    try write("<")
    try type()
    try write(" as ")
    try path()
    try write(">")
  }

  /// Reads the path of the `impl` block, which does not belong to the name.
  private mutating func skipImplementationPath() throws(Invalid) {
    _ = try number(after: "s")
    let end = text
    try path()
    text = end
  }

  private mutating func genericArgument() throws(Invalid) {
    if takes("L") {
      try lifetime(try number())
    } else if takes("K") {
      try constant()
    } else {
      try type()
    }
  }

  private mutating func lifetime(_ index: Int) throws(Invalid) {
    guard index > 0 else { return try write("'_") }
    guard index <= boundLifetimes else { throw Invalid() }
    try write(lifetimeName(boundLifetimes - index))
  }

  private func lifetimeName(_ number: Int) -> String {
    number < 26
      ? "'\(Unicode.Scalar(UInt8(ascii: "a") &+ UInt8(truncatingIfNeeded: number)))" : "'_\(number)"
  }

  // MARK: - Types

  private static let basicTypes: [Unicode.Scalar: String] = [
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8",
    "i": "isize", "j": "usize", "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_",
    "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64", "y": "u64", "z": "!",
  ]

  private mutating func type() throws(Invalid) {
    try nested { (self) throws(Invalid) in try self.typeBody() }
  }

  private mutating func typeBody() throws(Invalid) {
    let tag = Unicode.Scalar(try next())
    if let basic = Self.basicTypes[tag] { return try write(basic) }
    switch tag {
    case "R", "Q":
      try write("&")
      if takes("L") {
        let index = try number()
        if index > 0 {
          try lifetime(index)
          try write(" ")
        }
      }
      if tag == "Q" { try write("mut ") }
      try type()
    case "P", "O":
      try write(tag == "P" ? "*const " : "*mut ")
      try type()
    case "A", "S":
      try write("[")
      try type()
      if tag == "A" {
        try write("; ")
        try constant()
      }
      try write("]")
    case "T":
      try write("(")
      let count = try list { (self) throws(Invalid) in try self.type() }
      try write(count == 1 ? ",)" : ")")
    case "F": try bound { (self) throws(Invalid) in try self.function() }
    case "D":
      try write("dyn ")
      try bound { (self) throws(Invalid) in
        _ = try self.list(separator: " + ") { (self) throws(Invalid) in try self.dynamicTrait() }
      }
      guard takes("L") else { throw Invalid() }
      let index = try number()
      if index > 0 {
        try write(" + ")
        try lifetime(index)
      }
    case "B": try backreference { (self) throws(Invalid) in try self.type() }
    default:
      position -= 1
      try path()
    }
  }

  /// Reads a binder (`for<'a>`), which may be missing, and the type to which it applies.
  private mutating func bound(
    _ read: (inout Self) throws(Invalid) -> Void
  ) throws(Invalid) {
    let count = try number(after: "G")
    guard count <= 64 else { throw Invalid() }
    if count > 0 {
      let names = (0..<count).map { lifetimeName(boundLifetimes + $0) }
      try write("for<" + names.joined(separator: ", ") + "> ")
    }
    boundLifetimes += count
    try read(&self)
    boundLifetimes -= count
  }

  private mutating func function() throws(Invalid) {
    if takes("U") { try write("unsafe ") }
    if takes("K") {
      let abi = takes("C") ? "C" : try plainIdentifier().replacing("_", with: "-")
      try write("extern \"\(abi)\" ")
    }
    try write("fn(")
    _ = try list { (self) throws(Invalid) in try self.type() }
    try write(")")
    if takes("u") { return }
    try write(" -> ")
    try type()
  }

  /// Reads a trait of a `dyn` type, with its associated types.
  private mutating func dynamicTrait() throws(Invalid) {
    let start = text.utf8.count
    try path()
    var isOpen = false
    while takes("p") {
      if !isOpen {
        // An associated type is one more generic argument.
        isOpen = true
        if text.utf8.count > start, text.hasSuffix(">") {
          text.removeLast()
          try write(", ")
        } else {
          try write("<")
        }
      } else {
        try write(", ")
      }
      try write(try plainIdentifier() + " = ")
      try type()
    }
    if isOpen { try write(">") }
  }

  // MARK: - Constants

  private mutating func constant() throws(Invalid) {
    if takes("B") { return try backreference { (self) throws(Invalid) in try self.constant() } }
    let type = Unicode.Scalar(try next())
    switch type {
    case "p": return try write("_")
    case "b", "c", "a", "h", "i", "j", "l", "m", "n", "o", "s", "t", "x", "y": break
    default: throw Invalid()
    }
    let isNegative = takes("n")
    let start = position
    while let byte = peek, byte != UInt8(ascii: "_") {
      guard
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
          || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
      else { throw Invalid() }
      position += 1
    }
    let digits = String(decoding: bytes[start..<position], as: UTF8.self)
    guard takes("_") else { throw Invalid() }
    let value = UInt64(digits.isEmpty ? "0" : digits, radix: 16)
    switch (type, value) {
    case ("b", 0): try write("false")
    case ("b", 1): try write("true")
    case ("b", _): throw Invalid()
    case ("c", let value):
      guard let scalar = value.flatMap({ UInt32(exactly: $0) }).flatMap(Unicode.Scalar.init) else {
        throw Invalid()
      }
      try write("'" + scalar.escaped(asASCII: false) + "'")
    case (_, let value):
      try write((isNegative ? "-" : "") + (value.map { "\($0)" } ?? "0x" + digits))
    }
  }
}

/// Decodes identifiers with letters outside ASCII.
///
/// Source: RFC 3492, with `_` instead of `-` as in Rust RFC 2603.
private enum Punycode {
  /// Decodes an identifier; nil if it is not valid.
  static func decode(_ text: String) -> String? {
    let split = text.lastIndex(of: "_")
    var scalars = split.map { Array(text[..<$0].unicodeScalars) } ?? []
    let digits = split.map { text[text.index(after: $0)...] } ?? text[...]
    var (code, index, bias, isFirst) = (128, 0, 72, true)
    var rest = Array(digits.utf8)[...]
    while !rest.isEmpty {
      let before = index
      var (weight, k) = (1, 36)
      while true {
        guard let digit = rest.popFirst().flatMap(value) else { return nil }
        index += digit * weight
        let threshold = min(max(k - bias, 1), 26)
        if digit < threshold { break }
        weight *= 36 - threshold
        k += 36
        guard index < 1 << 32, weight < 1 << 26 else { return nil }
      }
      let count = scalars.count + 1
      bias = adapted(index - before, count, isFirst)
      isFirst = false
      code += index / count
      index %= count
      guard let scalar = UInt32(exactly: code).flatMap(Unicode.Scalar.init) else { return nil }
      scalars.insert(scalar, at: index)
      index += 1
    }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars)
    return String(result)
  }

  private static func value(of digit: UInt8) -> Int? {
    switch digit {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit) - 97
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit) - 48 + 26
    default: nil
    }
  }

  private static func adapted(_ difference: Int, _ count: Int, _ isFirst: Bool) -> Int {
    var delta = isFirst ? difference / 700 : difference / 2
    delta += delta / count
    var k = 0
    while delta > 455 {
      delta /= 35
      k += 36
    }
    return k + 36 * delta / (delta + 38)
  }
}
