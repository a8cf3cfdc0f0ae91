/// Recognizes functions of Rust's libraries, and shortens names of Rust.
enum RustCode {
  /// True for the linkage name of a Rust function.
  static func isName(_ linkageName: String) -> Bool {
    // After "_R", a capital letter begins a path.
    if linkageName.hasPrefix("_R"), let tag = linkageName.dropFirst(2).first, "CMXYNI".contains(tag)
    {
      return true
    }
    guard linkageName.hasPrefix("_ZN") else { return false }
    let end = linkageName.firstRange(of: "E.llvm.").map(\.lowerBound) ?? linkageName.endIndex
    let name = linkageName[..<end]
    // The last part of a name in the older form is a hash: "17h", 16 digits, "E".
    let hash = (name.last == "E" ? name.dropLast() : name).suffix(19)
    return hash.hasPrefix("17h") && hash.dropFirst(3).allSatisfy(\.isHexDigit)
  }

  /// True for a function of Rust's libraries, and for a function that the compiler made.
  ///
  /// - Parameter function: the demangled name.
  static func isLibrary(_ function: String) -> Bool {
    if function.contains("{shim") || function.contains("{{vtable.shim}}") { return true }
    guard function.first == "<" else { return root(of: function[...]).map(isCrate) ?? false }
    let (type, trait, _) = qualified(function)
    // A closure's own function has the closure's name, so this is a call of it through a trait.
    if type.hasSuffix("}") { return true }
    let roots = [root(of: type), trait.flatMap(root)].compactMap(\.self)
    return roots.allSatisfy(isCrate)
  }

  private static let crates: Set = [
    "core", "alloc", "std", "std_detect", "panic_abort", "panic_unwind", "compiler_builtins",
    "rustc_demangle", "__rustc",
  ]

  private static func isCrate(_ name: Substring) -> Bool { crates.contains(String(name)) }

  /// The crate in a path; nil for a type without a path, such as `str` or `&T`.
  private static func root(of path: Substring) -> Substring? {
    let name = path.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return path[name.endIndex...].hasPrefix("::") && !name.isEmpty ? name : nil
  }

  /// The short form of a name with a type: the type's path without the trait and generic arguments; nil for another
  /// name.
  ///
  /// `<shop::Basket<u32> as shop::Priced>::price` becomes `shop::Basket::price`, and so does the older form,
  /// `shop::<impl shop::Priced for shop::Basket<u32>>::price`.
  static func short(_ name: String) -> String? {
    let type: Substring
    let rest: Substring
    if name.hasPrefix("<"), name.contains("::") {
      (type, _, rest) = qualified(name)
    } else if let mark = name.firstRange(of: "::<impl "),
      let end = end(ofArguments: name[mark.upperBound...])
    {
      let inside = name[mark.upperBound..<end]
      type = inside.ranges(of: " for ").last.map { inside[$0.upperBound...] } ?? inside
      rest = name[name.index(after: end)...]
    } else {
      return nil
    }
    return withoutArguments(type, depth: 0) + withoutArguments(rest, depth: 0)
  }

  /// Removes the parts that name closures; their numbers change with each closure that is added before them.
  static func withoutClosures(_ name: String) -> String {
    guard name.contains("::{") else { return name }
    return name.split(separator: "::", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("{closure") && !$0.hasPrefix("{{closure") }.joined(separator: "::")
  }

  /// Splits `<Type as Trait>::rest`; the trait is nil for `<Type>::rest`.
  private static func qualified(
    _ name: String
  ) -> (type: Substring, trait: Substring?, rest: Substring) {
    let text = name[...].dropFirst()
    guard let end = end(ofArguments: text) else { return (name[...], nil, "") }
    let inside = text[..<end]
    let rest = text[text.index(after: end)...]
    var depth = 0
    for index in inside.indices {
      if inside[index] == "<" { depth += 1 }
      if inside[index] == ">", !isArrow(at: index, in: inside) { depth -= 1 }
      if depth == 0, inside[index...].hasPrefix(" as ") {
        let trait = inside[inside.index(index, offsetBy: 4)...]
        return (inside[..<index], trait, rest)
      }
    }
    return (inside, nil, rest)
  }

  /// The position of the `>` that closes a list of arguments whose `<` precedes the text.
  private static func end(ofArguments text: Substring) -> String.Index? {
    var depth = 1
    for index in text.indices {
      if text[index] == "<" { depth += 1 }
      if text[index] == ">", !isArrow(at: index, in: text) { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  private static func isArrow(at index: String.Index, in text: Substring) -> Bool {
    index > text.startIndex && text[text.index(before: index)] == "-"
  }

  private static func withoutArguments(_ text: Substring, depth: Int) -> String {
    var (result, rest) = ("", text)
    while let first = rest.first {
      let inside = rest.dropFirst()
      guard first == "<", depth < 8, let end = end(ofArguments: inside) else {
        result.append(first)
        rest = inside
        continue
      }
      // A `<` that follows no name begins a type such as `<T as Trait>::Item`.
      if let last = result.last, last.isLetter || last.isNumber || last == "_" || last == "}" {
        rest = inside[inside.index(after: end)...]
      } else {
        let (type, _, _) = qualified(String(rest[...end]))
        result += withoutArguments(type, depth: depth + 1)
        rest = inside[inside.index(after: end)...]
      }
    }
    return result
  }
}
