/// Recognizes functions that compilers generate.
///
/// Which of these functions exist depends on the optimization level, and none of them shows the cause of a crash.
///
/// Source: swift lib/Demangling/NodePrinter.cpp, the words that precede a name.
enum CompilerMade {
  /// - Parameter function: the demangled name.
  static func isFunction(_ function: String) -> Bool {
    if function.hasPrefix(FunctionName.trapPrefix) { return true }
    let name = FunctionName.withoutVariants(function)
    return prefixes.contains(where: name.hasPrefix) || phrases.contains { isIntroduced(name, $0) }
      || helpers.contains(String(name.prefix { $0 != "." }))
  }

  /// True if `phrase` precedes the first declaration in `name`, as in "destroy value witness for App.Value".
  private static func isIntroduced(_ name: Substring, _ phrase: String) -> Bool {
    let words = name.prefix { $0.isLetter || $0 == " " || $0 == "-" }
    return words.firstRange(of: phrase) != nil
  }

  private static let prefixes = [
    "partial apply forwarder for ", "partial apply for ", "protocol witness for ",
    "protocol self-conformance witness for ", "dispatch thunk of ", "vtable thunk for ",
    "curry thunk of ", "@objc ", "@nonobjc ", "outlined ", "method lookup function for ",
    "key path ", "back deployment thunk for ", "back deployment fallback for ",
    "distributed thunk ", "distributed accessor for ", "coro function pointer to ",
    "async function pointer to ", "non-virtual thunk to ", "virtual thunk to ",
    "block copy helper for ", "block destroy helper for ", "implicit closure wrapper ",
  ]

  /// Phrases that precede the first declaration in the names of generated functions.
  private static let phrases = [
    "reabstraction thunk", "value witness for ", "metadata accessor for ",
    "metadata completion function for ", "metadata instantiation function for ",
    "witness table accessor for ", "conformance accessor for ", "instantiation function for ",
    "metadata instantiation cache for ", "lazy cache variable for ",
  ]

  /// Generated functions whose names are not mangled; a number may follow the name.
  ///
  /// Source: swift lib/IRGen/GenHeap.cpp, GenFunc.cpp.
  private static let helpers: Set = [
    "objectdestroy", "objectdestroyTm", "block_copy_helper", "block_destroy_helper",
    "get_witness_table", "keypath_destroy", "keypath_copy", "keypath_get", "keypath_set",
    "keypath_equals", "keypath_hash", "get_type_metadata", "get_enum_tag_for_layout_string",
    "call_destroy", "call_copy",
  ]
}
