internal import Glibc
internal import Synchronization

/// Standard output: commands print only through this type.
///
/// After a failed write, nothing more is written, because a text with a gap would look complete. `finish` returns the
/// failure to `PostmortemTool.run`, even if the code that printed ignored it.
enum StandardOutput {
  private static let failure = Mutex<ToolError?>(nil)
  private static let name = "standard output"

  static func print(_ text: String) throws(ToolError) {
    try write(Array(text.utf8)[...])
  }

  static func write(_ bytes: ArraySlice<UInt8>) throws(ToolError) {
    let failure = failure.withLock { failure in
      do throws(ToolError) {
        if failure == nil { try Output.write(bytes, to: STDOUT_FILENO, named: name) }
      } catch {
        failure = error
      }
      return failure
    }
    if let failure { throw failure }
  }

  /// The reason why something that was printed is lost; nil if there is none, or if the reader of a pipe did not want
  /// it.
  static func finish() -> ToolError? {
    let failure = failure.withLock { $0 }
    guard failure == nil else { return failure == .unread ? nil : failure }
    do throws(ToolError) {
      try Output.flush(STDOUT_FILENO, named: name)
      return nil
    } catch {
      return error
    }
  }
}

/// Prints text in pieces of at least 64 KiB; the caller calls `flush` for the last piece.
struct StandardOutputStream: TextOutputStream {
  private var buffer = ""

  mutating func write(_ string: String) {
    buffer += string
    // The next call of `flush` throws the failure of this one.
    if buffer.utf8.count >= 1 << 16 { try? flush() }
  }

  mutating func flush() throws(ToolError) {
    defer { buffer = "" }
    try StandardOutput.print(buffer)
  }
}
