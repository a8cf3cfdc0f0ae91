internal import CUploadTransfer
internal import CrashReportDatabase

/// Compresses pieces of a body one after another, with the system's zlib.
///
/// Source: RFC 1952; zlib.h.
@safe struct Gzip: ~Copyable {
  private static let pieceSize = 64 << 10

  private let stream: OpaquePointer

  /// Returns nil if zlib is not installed, would call functions of the program, or has no memory; the body is then sent
  /// uncompressed.
  init?() {
    guard let closure = try? LibraryClosure(of: "libz.so.1"),
      (try? closure.checkBindings()) != nil,
      let stream = unsafe pm_gzip_make(closure.library.path)
    else { return nil }
    closure.noteLoading()
    unsafe self.stream = stream
  }

  deinit { unsafe pm_gzip_free(stream) }

  /// Compresses bytes, and returns the part of the output that is ready.
  ///
  /// - Parameter isLast: true to end the stream, after which nothing may follow.
  /// - Throws: `CrashReportDatabaseError` if zlib failed.
  func compress(_ bytes: [UInt8], isLast: Bool) throws(CrashReportDatabaseError) -> [UInt8] {
    var result: [UInt8] = []
    var offset = 0
    var piece = [UInt8](repeating: 0, count: Self.pieceSize)
    while true {
      var (taken, made) = (0, 0)
      let state = unsafe bytes.withUnsafeBufferPointer { input in
        let start = unsafe input.baseAddress.map { unsafe $0 + offset }
        return unsafe pm_gzip_step(
          stream, start, input.count &- offset, &taken, &piece, piece.count, &made,
          isLast ? 1 : 0)
      }
      guard state >= 0 else { break }
      offset &+= taken
      result += piece.prefix(made)
      if state == 1 { return result }
      // If the output does not fill the piece, zlib needs more input.
      if offset == bytes.count, made < piece.count {
        if isLast { break }
        return result
      }
    }
    throw CrashReportDatabaseError(.fileSystemError, "zlib cannot compress the body")
  }
}
