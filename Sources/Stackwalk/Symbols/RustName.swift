/// Demangles Rust names.
///
/// Hashes and disambiguators, which change with every build of a crate, are left out. Generic arguments are printed as
/// in types, without `::` before them.
///
/// Source: Rust RFC 2603 (names that begin with `_R`); rustc compiler/rustc_symbol_mangling/src/legacy.rs.
enum RustName {
  /// The maximum number of bytes of a demangled name; backreferences can make a short name very long.
  static let maximumSize = 1 << 13

  /// Demangles a name; nil if it is not a name of Rust.
  static func demangle(_ name: String) -> String? {
    let bytes = Array(name.utf8)
    if name.hasPrefix("_R") {
      var reader = RustV0Reader(bytes)
      return reader.symbol()
    }
    return name.hasPrefix("_ZN") ? legacy(bytes[3...]) : nil
  }

  // MARK: - The older mangling

  /// Reads the parts of a name up to the `E`, the last of which must be a hash.
  private static func legacy(_ bytes: ArraySlice<UInt8>) -> String? {
    var (rest, parts): (ArraySlice<UInt8>, [ArraySlice<UInt8>]) = (bytes, [])
    while let first = rest.first, first != UInt8(ascii: "E") {
      let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      rest = rest[digits.endIndex...]
      guard let count = Int(String(decoding: digits, as: UTF8.self)), count > 0, count <= rest.count
      else {
        return nil
      }
      parts.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    guard !rest.isEmpty, let hash = parts.popLast(), !parts.isEmpty, isHash(hash) else {
      return nil
    }
    return parts.map(unescaped).joined(separator: "::")
  }

  private static func isHash(_ part: ArraySlice<UInt8>) -> Bool {
    part.count == 17 && part.first == UInt8(ascii: "h")
      && part.dropFirst().allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }
  }

  private static let escapes: [String: String] = [
    "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
  ]

  private static func unescaped(_ part: ArraySlice<UInt8>) -> String {
    var text = String(decoding: part, as: UTF8.self)[...]
    if text.hasPrefix("_$") { text.removeFirst() }
    var result = ""
    while let first = text.first {
      if first == "$", let end = text.dropFirst().firstIndex(of: "$") {
        let word = text[text.index(after: text.startIndex)..<end]
        let scalar = word.first == "u" ? UInt32(word.dropFirst(), radix: 16) : nil
        if let escaped = escapes[String(word)]
          ?? scalar.flatMap(Unicode.Scalar.init).map({ String(Character($0)) })
        {
          result += escaped
          text = text[text.index(after: end)...]
          continue
        }
      }
      if text.hasPrefix("..") {
        result += "::"
        text.removeFirst(2)
      } else {
        result.append(first)
        text.removeFirst()
      }
    }
    return result
  }
}
