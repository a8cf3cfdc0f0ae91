internal import Glibc

/// Reads whole files of /proc.
///
/// If the kernel reports a size of 0, Foundation's `String(contentsOfFile:)` stops at the first short read: it
/// returned the first 3,968 bytes of /proc/self/maps (Swift 6.3.1).
public enum KernelFile {
  /// A file that cannot be opened, for example because a thread or process has ended.
  private struct Missing: Error {
    let path: String
  }

  /// - Parameter limit: the number of bytes after which reading stops.
  public static func bytes(_ path: String, limit: Int = 1 << 24) throws -> [UInt8] {
    // Does not use #require, because that records an issue even if the caller expects that the file may not
    // exist.
    guard let file = unsafe fopen(path, "r") else { throw Missing(path: path) }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while bytes.count < limit {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return bytes
  }

  public static func text(_ path: String) throws -> String {
    String(decoding: try bytes(path), as: UTF8.self)
  }
}
