internal import CSwiftDemangle
internal import Glibc

/// Turns linkage names into readable names.
package enum Demangler {
  /// Demangles a Swift, C++ or Rust name; nil for any other name, and for a name that cannot be demangled.
  package static func demangle(_ name: String) -> String? {
    if name.hasPrefix("$s") || name.hasPrefix("$S") || name.hasPrefix("_T0") {
      return unsafe taken(swift_demangle(name, name.utf8.count, nil, nil, 0))
    }
    // The older names of Rust are also valid C++ names.
    if let rust = RustName.demangle(name) { return rust }
    return name.hasPrefix("_Z") ? unsafe taken(pm_demangle_cxx(name)) : nil
  }

  /// Demangles the name of a C++ type that `std::type_info::name()` returns.
  ///
  /// For example, "St13runtime_error" becomes "std::runtime_error".
  ///
  /// - Returns: the demangled name; if `name` does not follow the Itanium ABI, `name` without a leading star.
  package static func cxxTypeName(_ name: String) -> String {
    // A star precedes the name of a type that is local to one file.
    let plain = name.hasPrefix("*") ? String(name.dropFirst()) : name
    let prefix = "typeinfo name for "
    guard let demangled = demangle("_ZTS" + plain), demangled.hasPrefix(prefix) else {
      return plain
    }
    return String(demangled.dropFirst(prefix.count))
  }

  private static func taken(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    defer { unsafe free(pointer) }
    return unsafe String(cString: pointer)
  }
}

/// Reads the linkage names of asynchronous functions.
///
/// The compiler splits such a function into parts at its suspension points.
///
/// Source: swift docs/ABI/Mangling.rst: the name of a part ends with `TY` or `TQ` and a number; `Ya` means `async`.
enum AsyncFunctionName {
  /// Returns the name of the whole function for any of its parts; nil if the name is not that of an async function.
  static func whole(of name: String) -> String? {
    guard name.hasPrefix("$s") || name.hasPrefix("$S") else { return nil }
    if let whole = withoutPart(name) { return whole }
    // The mangled name of every async function contains "Ya", so most other names need not be demangled.
    guard name.contains("Ya") else { return nil }
    return Demangler.demangle(name)?.contains(" async ") == true ? name : nil
  }

  /// Removes the suffix that marks a part of an asynchronous function, such as `TY0_` in "fTY0_"; nil for a name
  /// without such a suffix.
  private static func withoutPart(_ name: String) -> String? {
    guard name.hasSuffix("_") else { return nil }
    let digits = name.dropLast().reversed().prefix { $0.isNumber }.count
    let rest = name.dropLast(1 + digits)
    guard digits > 0, rest.hasSuffix("TY") || rest.hasSuffix("TQ") else { return nil }
    return String(rest.dropLast(2))
  }
}
