internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Lists an open directory.
package enum DirectoryNames {
  /// The maximum number of bytes that one system call returns, enough for about a hundred names.
  package static let window = 8 << 10

  /// Returns the names in a directory, in arbitrary order, without `.` and `..`.
  ///
  /// - Parameter limit: the maximum number of bytes of directory entries.
  /// - Returns: nil if the entries come within 512 bytes of the limit, or if the directory cannot be opened.
  package static func of(_ descriptor: Int32, limit: Int = .max) -> [String]? {
    // The directory is opened again, because all users of one descriptor share its read position.
    let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return nil }
    defer { close(copy) }
    return rest(of: copy, limit: limit)
  }

  /// Reads the names from a descriptor's position to the end of the directory, and moves the position.
  ///
  /// - Parameter isShort: true to stop after a read that fills less than half of the window, because another read
  ///   would return nothing.
  static func rest(of copy: Int32, limit: Int = .max, isShort: Bool = false) -> [String]? {
    var names: [String] = []
    var total = 0
    while true {
      let buffer = unsafe [UInt8](unsafeUninitializedCapacity: window) { buffer, count in
        let result = unsafe pm_getdents64(copy, buffer.baseAddress, buffer.count)
        count = max(0, result)
      }
      if buffer.isEmpty { return names }
      total += buffer.count
      var start = 0
      // An entry consists of inode and offset (8 bytes each), its size (2 bytes), the type (1 byte), and the name.
      // Source: getdents64(2).
      while let size = buffer.littleEndian(at: start + 16, as: UInt16.self), size > 19 {
        let bytes = buffer[(start + 19)..<(start + Int(size))].prefix { $0 != 0 }
        let name = String(decoding: bytes, as: UTF8.self)
        if name != ".", name != ".." { names.append(name) }
        start += Int(size)
      }
      // The kernel leaves the end of a window empty if the next name does not fit there. So the limit counts as
      // reached when up to 512 bytes are still free.
      if total >= limit - 512 { return nil }
      if isShort, buffer.count < window / 2 { return names }
    }
  }
}
