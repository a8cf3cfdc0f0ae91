/// A file of HTTP headers, `Name: value` a line, so that secrets are not among arguments.
enum HeaderFile {
  static func headers(of path: String) throws(ToolError) -> [String: String] {
    var headers: [String: String] = [:]
    let text = String(decoding: try InputFile.bytes(of: path), as: UTF8.self)
    for line in text.split(whereSeparator: \.isNewline) {
      guard let (name, value) = NamedValue.parse(String(line), separator: ":") else {
        throw ToolError(path: path, "a line that is not 'Name: value'")
      }
      headers[name] = String(value.drop { $0 == " " })
    }
    return headers
  }
}

/// `name=value` and `name: value`.
enum NamedValue {
  /// Nil without the separator, or with nothing before it.
  static func parse(_ text: String, separator: Character) -> (name: String, value: String)? {
    let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    return (String(parts[0]), String(parts[1]))
  }
}
