/// Shortens demangled names for readers and signatures, by removing types and generic arguments.
package enum FunctionName {
  /// The prefix of the name of the artificial function that the compiler adds to the debug information of a trap.
  ///
  /// The name of this artificial function describes a failed check that writes no message.
  ///
  /// Source: swift/lib/IRGen/IRGenDebugInfo.cpp, `addFailureMessageToCurrentLoc`.
  package static let trapPrefix = "Swift runtime failure: "

  /// The short form of a demangled Swift or C++ name; a C name is unchanged.
  ///
  /// `static App.Store.load(id: Swift.Int) throws -> ()` becomes `App.Store.load(id:)`. A closure in this function
  /// becomes `closure #1 in App.Store.load(id:)`. Shortening never fails, and takes linear time for any text. The
  /// outer scopes of a deeply nested name stay unchanged. A name of more than 64 KiB is cut to 200 characters.
  package static func short(_ name: String) -> String {
    guard name.utf8.count <= 1 << 16 else { return String(name.prefix(200)) }
    // The name of a trap is a sentence and not a declaration, so it stays unchanged.
    if name.hasPrefix(trapPrefix) { return name }
    if let rust = RustCode.short(name) { return rust }
    return isCxx(name) ? shortCxx(Array(name)) : shortSwift(withoutAwait(name), depth: 0)
  }

  /// True for a demangled C++ name, such as `operator new(unsigned long)` or `ns::f<int>() const`.
  ///
  /// A demangled Swift name that ends with its parameters has argument labels (`f(x:)`), contains `->` or `#`, or has a
  /// dot before the parameters (`App.f()`).
  private static func isCxx(_ name: String) -> Bool {
    if name.contains("::") { return true }
    // The demangler of C++ adds words such as "[clone .cold]" to the name of a part or clone.
    let name = name.firstRange(of: " [clone ").map { name[..<$0.lowerBound] } ?? name[...]
    guard name.hasSuffix(")"), let start = name.firstIndex(of: "("), start > name.startIndex,
      !name.hasSuffix(":)"), !name.contains("->"), !name[..<start].contains("."),
      !name.contains("#")
    else { return false }
    return name[name.index(before: start)] != " "
  }

  /// The short form for readers, with "top-level code" for code outside functions.
  ///
  /// To the code outside functions in main.swift, the Swift compiler gives the name `main`, or a name with the module's
  /// name, such as `App_main`. For such code, the result is "top-level code".
  ///
  /// - Parameter file: the source file, which distinguishes top-level code from a function with the same name.
  package static func readable(_ name: String, file: String?) -> String {
    let short = short(name)
    let words = "top-level code"
    if short == "async_Main" { return words }
    guard file?.split(separator: "/").last == "main.swift" else { return short }
    if isIdentifier(short[...]), short == "main" || short.hasSuffix("_main") { return words }
    // In a name such as "closure #1 in App", the outermost scope is the module, which `words` replaces.
    guard short.hasPrefix("closure #"), let scope = short.ranges(of: " in ").last,
      isIdentifier(short[scope.upperBound...])
    else { return short }
    return short[..<scope.upperBound] + words
  }

  private static func isIdentifier(_ text: Substring) -> Bool {
    !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// Removes from an unmangled name the suffix for a part of an async function: "async_MainTY3_" becomes
  /// "async_Main".
  private static func withoutAwait(_ name: String) -> Substring {
    guard name.hasSuffix("_") else { return name[...] }
    let digits = name.dropLast().reversed().prefix { $0.isNumber }.count
    let whole = name.dropLast(1 + digits)
    return digits > 0 && (whole.hasSuffix("TY") || whole.hasSuffix("TQ"))
      ? whole.dropLast(2) : name[...]
  }

  /// Prefixes that demanglers add to the name of a function; the short form leaves them out.
  private static let variants = ["static ", "merged ", "specialized "]
  private static let prefixes = [
    "partial apply forwarder for ", "dispatch thunk of ", "protocol witness for ",
    "outlined copy of ", "outlined consume of ", "method descriptor for ",
  ]
  private static let specializations = [
    "generic specialization ", "generic partial specialization ",
    "generic not re-abstracted specialization ", "generic pre-specialization ",
    "function signature specialization ",
  ]

  private static func shortSwift(_ name: Substring, depth: Int) -> String {
    guard depth < 8 else { return String(name) }
    var name = name
    while let shorter = withoutPrefix(name) { name = shorter }
    var rest = Array(name)[...]
    // A closure or a local function, such as "closure #1 () -> () in App.f() -> ()" or "helper #1 (Swift.Int) -> ()
    // in App.f() -> ()".
    if let separator = topLevel(" in ", in: rest) {
      let inner = rest[..<separator]
      let outer = rest[(separator + 4)...]
      if inner.contains("#") {
        // A number within brackets belongs to a type, as in "init(code: Swift.Int) -> Swift.Optional<Kind #1 in …>".
        let name = topLevel(" #", in: inner) == nil ? declarationName(inner) : localName(inner)
        return name + " in " + shortSwift(Substring(String(outer)), depth: depth + 1)
      }
      // A name with a conformance, such as "App.P.f() -> () in conformance App.S : App.P in App".
      rest = inner
    }
    return declarationName(rest)
  }

  /// Removes the parts of a name that differ between the forms of one function.
  ///
  /// Such a form is, for example, a specialization, or the part of an async function between two suspensions.
  static func withoutVariants(_ name: String) -> Substring {
    var rest = name[...]
    while let shorter = withoutVariant(rest) { rest = shorter }
    return rest
  }

  private static func withoutVariant(_ name: Substring) -> Substring? {
    for variant in variants where name.hasPrefix(variant) { return name.dropFirst(variant.count) }
    for prefix in specializations where name.hasPrefix(prefix) {
      // The first "> of " ends the list of a specialization's arguments, because the types and linkage names in the
      // list do not contain this text. Matching brackets would fail, because not all brackets in the list are closed.
      return name.firstRange(of: "> of ").map { name[$0.upperBound...] }
    }
    // A part of an async function, such as "(2) suspend resume partial function for App.f() async -> ()".
    let number = name.dropFirst().prefix(while: \.isNumber)
    guard name.hasPrefix("("), !number.isEmpty else { return nil }
    let words = name[number.endIndex...]
    for part in parts where words.hasPrefix(part) { return words.dropFirst(part.count) }
    return nil
  }

  private static let parts = [
    ") suspend resume partial function for ", ") await resume partial function for ",
  ]

  private static func withoutPrefix(_ name: Substring) -> Substring? {
    if let shorter = withoutVariant(name) { return shorter }
    for prefix in prefixes where name.hasPrefix(prefix) { return name.dropFirst(prefix.count) }
    // A member of an extension, such as "(extension in App):Swift.Array.f() -> ()".
    if name.hasPrefix("(extension in "), let end = name.firstIndex(of: ")") {
      let rest = name[name.index(after: end)...]
      if rest.first == ":" { return rest.dropFirst() }
    }
    return nil
  }

  /// The first position of `separator` that is outside all brackets; nil if there is none.
  private static func topLevel(_ separator: String, in text: ArraySlice<Character>) -> Int? {
    let wanted = Array(separator)
    var depth = 0
    var index = text.startIndex
    while index < text.endIndex {
      if depth == 0, text[index...].starts(with: wanted) { return index }
      depth += nesting(at: index, in: text)
      index += 1
    }
    return nil
  }

  /// How the character at `index` changes the nesting depth: 1 for an opening bracket, -1 for a closing one, otherwise
  /// 0.
  ///
  /// The end of an arrow (`->`) is not a bracket.
  private static func nesting(at index: Int, in text: ArraySlice<Character>) -> Int {
    switch text[index] {
    case "(", "[", "<": 1
    case ")", "]": -1
    case ">" where index > text.startIndex && text[index - 1] != "-": -1
    default: 0
    }
  }

  /// The name of a local declaration without its type, such as "closure #1" or "helper #2".
  private static func localName(_ text: ArraySlice<Character>) -> String {
    guard let mark = text.firstIndex(of: "#") else { return String(text) }
    let end = text[mark...].firstIndex(of: " ") ?? text.endIndex
    return String(text[..<end])
  }

  private static func declarationName(_ text: ArraySlice<Character>) -> String {
    var result = ""
    var index = text.startIndex
    while index < text.endIndex {
      let character = text[index]
      if character == "(" {
        guard let end = matchingEnd(of: index, in: text) else { break }
        let inside = text[(index + 1)..<end]
        // "App.(helper in _0F3B…)" is a private declaration.
        if let separator = topLevel(" in ", in: inside), result.isEmpty || result.last == "." {
          result += String(inside[..<separator])
        } else {
          return result + labels(inside)
        }
        index = end + 1
        continue
      }
      if character == "<", let last = result.last, last.isLetter || last.isNumber || last == "_" {
        guard let end = matchingEnd(of: index, in: text) else { break }
        index = end + 1
        continue
      }
      // A type follows the name, as in "App.value.getter : Swift.Int" or "App.f -> ()".
      if character == " ", text[index...].starts(with: " : ") || text[index...].starts(with: " -> ")
      {
        return result
      }
      result.append(character)
      index += 1
    }
    return result.isEmpty ? String(text) : result
  }

  private static func matchingEnd(of start: Int, in text: ArraySlice<Character>) -> Int? {
    var depth = 0
    return (start..<text.endIndex).first { index in
      depth += nesting(at: index, in: text)
      return depth == 0
    }
  }

  /// The argument labels, for example "(id:_:)" for "id: Swift.Int, Swift.String".
  private static func labels(_ parameters: ArraySlice<Character>) -> String {
    guard !parameters.isEmpty else { return "()" }
    var labels = ""
    var rest = parameters
    while true {
      let end = topLevel(", ", in: rest) ?? rest.endIndex
      let parameter = rest[..<end]
      let label = parameter.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      let isLabel = parameter.dropFirst(label.count).starts(with: ": ")
      labels += isLabel && !label.isEmpty ? String(label) + ":" : "_:"
      guard end < rest.endIndex else { break }
      rest = rest[(end + 2)...]
    }
    return "(" + labels + ")"
  }

  /// The qualified name without template arguments, parameters and return type.
  private static func shortCxx(_ text: [Character]) -> String {
    var result = ""
    var depth = 0
    var index = 0
    while index < text.count {
      let character = text[index]
      if depth == 0, text[index...].starts(with: "(anonymous namespace)") {
        result += "{anonymous}"
        index += "(anonymous namespace)".count
        continue
      }
      if depth == 0, character == "(", !result.hasSuffix("operator") { break }
      switch character {
      case "<" where !result.hasSuffix("operator") && !result.hasSuffix("operator<"): depth += 1
      // The end of an arrow (`->`), as in `f<fn() -> T>`, is not a bracket.
      case ">" where depth > 0 && text[index - 1] != "-": depth -= 1
      case " " where depth == 0 && !result.hasSuffix("operator"): result = ""
      default: if depth == 0 { result.append(character) }
      }
      index += 1
    }
    return result.isEmpty ? String(text) : result
  }
}
