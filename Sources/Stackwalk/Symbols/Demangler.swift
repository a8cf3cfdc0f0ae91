internal import CSwiftDemangle
internal import Glibc

/// Turns linkage names into names that people wrote.
enum Demangler {
  /// Nil for a name that is neither Swift's nor C++'s.
  static func demangle(_ name: String) -> String? {
    if name.hasPrefix("$s") || name.hasPrefix("$S") || name.hasPrefix("_T0") {
      return unsafe taken(swift_demangle(name, name.utf8.count, nil, nil, 0))
    }
    return name.hasPrefix("_Z") ? unsafe taken(pm_demangle_cxx(name)) : nil
  }

  private static func taken(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    defer { unsafe free(pointer) }
    return unsafe String(cString: pointer)
  }
}
