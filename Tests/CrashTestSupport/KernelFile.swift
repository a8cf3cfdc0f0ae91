internal import Glibc

/// Whole files of /proc.
///
/// Foundation's `String(contentsOfFile:)` ends at the first short read where the kernel says that a
/// file has no size: of /proc/self/maps it gave the first 3,968 bytes (Swift 6.3.1).
public enum KernelFile {
  /// A file that cannot be opened; a thread or process may have ended.
  private struct Missing: Error {
    let path: String
  }

  /// - Parameter limit: bytes after which reading stops.
  public static func bytes(_ path: String, limit: Int = 1 << 24) throws -> [UInt8] {
    // Not by #require, which records an issue where a caller expects that the file may be gone.
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
