/// The name of a function without the parts that change from build to build.
struct SignatureName: Sendable, Equatable {
  let text: String

  /// Converts a demangled function name to the form that signatures use.
  init(_ function: String) {
    var name = FunctionName.short(function)
    // The name of a closure is replaced with the name of the enclosing function. The number of a closure changes with
    // every closure that is added before it, and the optimizer may merge the closure and the function.
    while Self.isClosure(name), let separator = name.firstRange(of: " in ") {
      name = String(name[separator.upperBound...])
    }
    for prefix in Self.prefixes where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
    if name.hasPrefix("default argument "), let separator = name.firstRange(of: " of ") {
      name = String(name[separator.upperBound...])
    }
    name = RustCode.withoutClosures(Self.withoutMacroPlaces(Self.withoutNumbers(name)))
    for (long, short) in [
      (".__allocating_init(", ".init("), (".__deallocating_deinit", ".deinit"),
      (".__isolated_deallocating_deinit", ".deinit"),
    ] {
      name.replace(long, with: short)
    }
    // Only names of C are examined: in demangled names, words mark the variants of a function.
    let isC = !function.contains("(") && !function.contains(" ") && !function.contains("::")
    text = isC ? Self.withoutCompilerSuffix(name) : name
  }

  private static let prefixes = [
    "variable initialization expression of ", "one-time initialization function for ",
    "property wrapper backing initializer of ", "static ",
  ]

  /// True for the first function of a program; the name of such a function does not distinguish crashes.
  var isEntry: Bool {
    text == "main" || text == "async_Main" || text == "_start" || text.hasSuffix("_main")
      || text.hasSuffix(".main()") || text.hasSuffix(".$main()")
      || text.hasSuffix("::main") && text.ranges(of: "::").count == 1
  }

  private static func isClosure(_ name: String) -> Bool {
    ["closure #", "implicit closure #"].contains(where: name.hasPrefix)
  }

  /// Removes numbers: "helper #2 in App.run()" becomes "helper in App.run()".
  private static func withoutNumbers(_ name: String) -> String {
    guard name.contains(" #") else { return name }
    var words = name.split(separator: " ", omittingEmptySubsequences: false)
    words.removeAll { $0.first == "#" && $0.dropFirst().allSatisfy(\.isNumber) }
    return words.joined(separator: " ")
  }

  /// Removes from the names that macros make the line and column of the macro's use, and the number of the name.
  ///
  /// "$s3App0014mainswift_tzEGbfMX12_5_8makeLoadfMf0_4loadfMu_" becomes "$s3App0014mainswift_tzEGbfMX8makeLoadfMf4loadfMu".
  ///
  /// Source: swift lib/AST/ASTMangler.cpp, appendMacroExpansion.
  private static func withoutMacroPlaces(_ name: String) -> String {
    guard name.contains("fM"), name.contains("$s") || name.contains("__swiftmacro_") else {
      return name
    }
    var (result, rest) = ("", name[...])
    while let mark = rest.firstRange(of: "fM") {
      guard let kind = rest[mark.upperBound...].first else { break }
      var end = rest.index(after: mark.upperBound)
      for _ in 0..<(kind == "X" ? 2 : 1) {
        let digits = rest[end...].prefix { $0.isNumber }
        guard rest[digits.endIndex...].first == "_" else { break }
        end = rest.index(after: digits.endIndex)
      }
      result += rest[..<mark.upperBound] + String(kind)
      rest = rest[end...]
    }
    return result + rest
  }

  /// Removes suffixes such as ".cold" and ".avx2", with which compilers mark parts and clones of a C function.
  private static func withoutCompilerSuffix(_ name: String) -> String {
    var start = name.firstIndex(of: ".")
    while let dot = start {
      let token = name[name.index(after: dot)...].prefix { $0 != "." }
      if dot > name.startIndex,
        suffixes.contains(String(token)) || suffixPrefixes.contains(where: token.hasPrefix)
      {
        return String(name[..<dot])
      }
      start = name[name.index(after: dot)...].firstIndex(of: ".")
    }
    return name
  }

  /// Source: the functions that GCC and LLVM clone; `target_clones` adds the names of processor features.
  private static let suffixes: Set = [
    "cold", "part", "__part", "isra", "constprop", "llvm", "lto_priv", "localalias", "clone",
    "resolver", "ifunc", "default", "popcnt", "lzcnt", "ssse3",
  ]
  private static let suffixPrefixes = ["avx", "sse", "bmi", "fma", "arch_", "_M"]
}
