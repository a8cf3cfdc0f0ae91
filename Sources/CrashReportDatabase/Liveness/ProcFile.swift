internal import Glibc

/// Files of `/proc`, which have no size and are read to their end.
package enum ProcFile {
  /// A file's bytes, `limit` at most; nil if it cannot be read.
  package static func contents(_ path: String, limit: Int = 4096) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limit {
      let count = unsafe read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return bytes.isEmpty ? nil : bytes
  }
}
