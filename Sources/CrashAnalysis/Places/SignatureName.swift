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
    name = Self.withoutNumbers(name)
    for (long, short) in [
      (".__allocating_init(", ".init("), (".__deallocating_deinit", ".deinit"),
      (".__isolated_deallocating_deinit", ".deinit"),
    ] {
      name.replace(long, with: short)
    }
    text = Self.withoutCompilerSuffix(name)
  }

  private static let prefixes = [
    "variable initialization expression of ", "one-time initialization function for ",
    "property wrapper backing initializer of ", "static ",
  ]

  /// True for the first function of a program; the name of such a function does not distinguish crashes.
  var isEntry: Bool {
    text == "main" || text == "async_Main" || text == "_start" || text.hasSuffix("_main")
      || text.hasSuffix(".main()") || text.hasSuffix(".$main()")
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

  /// Removes suffixes such as ".cold" and ".part.0", with which optimizers mark parts of a C function.
  private static func withoutCompilerSuffix(_ name: String) -> String {
    // Only C names are examined: in demangled Swift and C++ names, words mark such parts, and these words have already
    // been removed.
    guard !name.contains("("), !name.contains(" ") else { return name }
    let suffixes = [".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."]
    let starts = suffixes.compactMap { name.firstRange(of: $0)?.lowerBound }
    guard let start = starts.min(), start > name.startIndex else { return name }
    return String(name[..<start])
  }
}
