/// Names of C++ types, as `std::type_info::name()` gives them.
public enum CxxTypeName {
  /// "std::runtime_error" of "St13runtime_error"; the name itself where it is none of the Itanium
  /// ABI's.
  public static func readable(_ name: String) -> String {
    // A type that is its own only within one file begins with a star.
    let plain = name.hasPrefix("*") ? String(name.dropFirst()) : name
    let prefix = "typeinfo name for "
    guard let demangled = Demangler.demangle("_ZTS" + plain), demangled.hasPrefix(prefix) else {
      return plain
    }
    return String(demangled.dropFirst(prefix.count))
  }
}
