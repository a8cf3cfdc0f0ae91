internal import Glibc

extension String {
  /// The part of the path after the last slash.
  var lastComponent: String {
    String(split(separator: "/", omittingEmptySubsequences: false).last ?? "")
  }

  /// The path without its last component: empty for a name, "/" for a path in the root.
  var parentPath: String {
    var path = self[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "" }
    var parent = path[..<slash]
    while parent.last == "/" { parent.removeLast() }
    return parent.isEmpty ? "/" : String(parent)
  }

  /// The path with the home directory in place of a leading "~", as a shell would expand it.
  ///
  /// Another user's home ("~name") is not expanded.
  var expandingTilde: String {
    guard self == "~" || hasPrefix("~/"), let home = unsafe getenv("HOME") else { return self }
    return unsafe String(cString: home) + dropFirst()
  }
}
