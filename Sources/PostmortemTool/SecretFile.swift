/// A file that holds a secret, so that the secret is not among a process's arguments.
enum SecretFile {
  /// Its first line.
  static func text(of path: String) throws(ToolError) -> String {
    let bytes = try InputFile.bytes(of: path)
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard (1...4096).contains(line.count), line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ToolError(
        path: path, "its first line is no secret: visible ASCII, 1 to 4096 characters")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
