/// Lets code outside a crash encode a dump, or part of one, with the writer that crash code uses.
public enum IntermediateDumpEncoding {
  /// Runs `body` with a writer that keeps the whole dump in memory; returns the dump's bytes.
  ///
  /// - Parameters:
  ///   - sizeHint: the expected size in bytes; if the hint is too small, `body` runs again.
  ///   - body: writes the tokens. `body` may run more than once, so it must write the same tokens each time.
  /// - Returns: the bytes, or nil if they do not fit into the largest buffer that is tried. The first buffer has
  ///   `sizeHint` bytes, but at least 4,096, and each further one is four times as large, up to 256 MiB.
  public static func encode(
    sizeHint: Int = 64 << 10, _ body: (inout IntermediateDumpWriter) -> Void
  ) -> [UInt8]? {
    let limit = 256 << 20
    var capacity = min(max(sizeHint, 4096), limit)
    while true {
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
      defer { unsafe buffer.deallocate() }
      var writer = unsafe IntermediateDumpWriter(
        buffer: buffer, capacity: capacity, descriptor: -1, byteLimit: .max)
      body(&writer)
      if writer.failure == 0 {
        let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: writer.bufferedCount)
        return unsafe Array(bytes)
      }
      guard capacity < limit else { return nil }
      capacity = min(capacity * 4, limit)
    }
  }
}

extension IntermediateDumpWriter {
  /// Writes text as UTF-8; writes nothing if the text is nil; not for crash code.
  public mutating func text(_ key: IntermediateDumpKey, _ text: String?) {
    guard let text else { return }
    bytes(key, Array(text.utf8))
  }

  /// Writes bytes; writes nothing if they are nil; not for crash code.
  public mutating func bytes(_ key: IntermediateDumpKey, _ bytes: [UInt8]?) {
    guard let bytes else { return }
    unsafe bytes.withUnsafeBytes { buffer in
      _ = unsafe property(key, buffer.baseAddress, count: buffer.count)
    }
  }
}

extension [String] {
  /// Joins the strings as lines of one string; replaces each line feed inside a string with a space.
  ///
  /// The standard library's `replacing` is not used, because it would add the regular-expression parser (1 MB) to a
  /// static executable.
  package var asOneText: String {
    var text: [UInt8] = []
    for (index, line) in enumerated() {
      if index > 0 { text.append(UInt8(ascii: "\n")) }
      text += line.utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
