internal import CrashReportDatabase
internal import IntermediateDump

/// An open file that is part of the body of an upload.
final class UploadFile: Sendable {
  let file: OpenFile
  /// The size of the file when it was opened; bytes that are added later are not sent.
  let size: Int64

  init(_ file: consuming OpenFile) throws(CrashReportDatabaseError) {
    size = try file.status().size
    self.file = file
  }

  /// Passes the file's bytes to `write` in order.
  ///
  /// - Parameter write: receives a piece of at most 256 KiB.
  /// - Throws: errors of `write`, and an error if the file cannot be read or became shorter.
  func copy(
    to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) {
    var offset: Int64 = 0
    while offset < size {
      let piece = try file.read(at: offset, count: Int(clamping: min(size &- offset, 256 << 10)))
      guard !piece.isEmpty else {
        throw CrashReportDatabaseError(
          .fileSystemError, "\(file.path) became shorter while it was read")
      }
      try write(piece)
      offset &+= Int64(piece.count)
    }
  }
}
