/// Passes the UTF-8 bytes of text to code that stores them in `ClientMemory`.
enum ClientText {
  /// Calls a closure with the UTF-8 bytes of a text, without allocating.
  ///
  /// - Parameter limit: the maximum number of bytes; a longer text is cut between two characters.
  static func withBytes<Result>(
    of text: String, atMost limit: Int, _ body: (UnsafeRawPointer, Int) -> Result
  ) -> Result {
    var text = text
    var nothing: UInt8 = 0
    // Native strings store UTF-8 bytes contiguously, and on Linux all strings are native.
    return text.withUTF8 { buffer in
      guard let base = buffer.baseAddress else { return unsafe body(&nothing, 0) }
      return unsafe body(UnsafeRawPointer(base), whole(buffer, limit))
    }
  }

  /// Calls a closure with the UTF-8 bytes of a name that is known at compile time.
  static func withBytes<Result>(
    of name: StaticString, atMost limit: Int, _ body: (UnsafeRawPointer, Int) -> Result
  ) -> Result {
    var nothing: UInt8 = 0
    return name.withUTF8Buffer { buffer in
      guard let base = buffer.baseAddress else { return unsafe body(&nothing, 0) }
      return unsafe body(UnsafeRawPointer(base), whole(buffer, limit))
    }
  }

  /// The number of bytes, at most `limit`, up to the end of the last complete character.
  private static func whole(_ bytes: UnsafeBufferPointer<UInt8>, _ limit: Int) -> Int {
    guard bytes.count > limit else { return bytes.count }
    var count = max(0, limit)
    // A byte 10xxxxxx continues the character before it, so the text is not cut before such a byte.
    while unsafe count > 0 && bytes[count] & 0xC0 == 0x80 { count -= 1 }
    return count
  }
}
