internal import Glibc

/// Small files of the system, read in ordinary code.
enum TextFile {
  /// The bytes of a file, at most 1 MiB; nil if it cannot be read.
  static func bytes(_ path: String) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16384)
    while contents.count < 1 << 20 {
      let count = unsafe piece.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      }
      if count < 0 {
        if errno == EINTR { continue }
        return nil
      }
      if count == 0 { break }
      contents += piece[..<count]
    }
    return contents
  }

  /// The same as text.
  static func text(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension String {
  /// Without the line feed that files of /proc end with.
  func trimmingLineEnd() -> String {
    hasSuffix("\n") ? String(dropLast()) : self
  }
}
