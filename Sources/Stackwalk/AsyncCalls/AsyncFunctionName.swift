internal import ProcessSnapshot

/// What linkage names say of asynchronous functions, which compilers cut into pieces.
///
/// Source: swift docs/ABI/Mangling.rst: `TY` and `TQ` and a number end the name of the piece
/// behind a suspension; `Ya` stands for `async`.
enum AsyncFunctionName {
  /// The whole function's name, for a piece and for the function's beginning; nil for a function
  /// that is not asynchronous.
  static func whole(of name: String) -> String? {
    guard name.hasPrefix("$s") || name.hasPrefix("$S") else { return nil }
    if let piece = withoutPiece(name) { return piece }
    // Of the runtime's own functions none are so.
    guard name.contains("Ya") else { return nil }
    return Demangler.demangle(name)?.contains(" async ") == true ? name : nil
  }

  /// "f" of "fTY0_"; nil for a name without such an end.
  private static func withoutPiece(_ name: String) -> String? {
    guard name.hasSuffix("_") else { return nil }
    let digits = name.dropLast().reversed().prefix { $0.isNumber }.count
    let rest = name.dropLast(1 + digits)
    guard digits > 0, rest.hasSuffix("TY") || rest.hasSuffix("TQ") else { return nil }
    return String(rest.dropLast(2))
  }
}

extension UnwindProcess {
  /// The name of the asynchronous function around an address; nil for another function.
  func asyncFunction(_ address: Address) -> String? {
    if let known = asyncFunctions[address] { return known }
    let name = functionName(address).flatMap(AsyncFunctionName.whole)
    if asyncFunctions.count < 1 << 16 { asyncFunctions[address] = .some(name) }
    return name
  }

  /// Whether a task may go on at an address: in an asynchronous function, or in the runtime's own,
  /// which begins and ends a task.
  func isAsynchronous(_ address: Address) -> Bool {
    if asyncFunction(address) != nil { return true }
    guard let module = snapshot.module(containing: address) else { return false }
    if module.name.hasPrefix("libswift_Concurrency.so") { return true }
    // A static program has the runtime in itself.
    return functionName(address)?.contains("completeTask") == true
  }
}
