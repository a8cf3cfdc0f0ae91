internal import Foundation

/// A file that somebody names: read whole, if it is one and not beyond all bounds.
enum InputFile {
  /// Twice the largest dump that a handler writes by default, and room for larger ones.
  static let maximumSize = 1 << 30

  /// The bytes of a regular file.
  ///
  /// Opened without blocking, so that a FIFO put in a dump's place is refused instead of waited
  /// for.
  static func bytes(of path: String) throws(ToolError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      throw ToolError(path: path, unsafe String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw ToolError(path: path, unsafe String(cString: strerror(errno)))
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ToolError(path: path, "not a regular file")
    }
    guard status.st_size <= maximumSize else {
      throw ToolError(path: path, "larger than \(maximumSize >> 20) MiB, which no dump is")
    }
    return try contents(of: descriptor, expected: Int(status.st_size), named: path)
  }

  /// Standard input to its end, whatever it is.
  static func standardInput() throws(ToolError) -> [UInt8] {
    try contents(of: 0, expected: 1 << 16, named: "standard input")
  }

  /// Reads to the end; never more than the bound, however much comes.
  private static func contents(
    of descriptor: Int32, expected: Int, named path: String
  ) throws(ToolError) -> [UInt8] {
    // One byte more, to see the end.
    var bytes = [UInt8](repeating: 0, count: expected + 1)
    var filled = 0
    while true {
      if filled == bytes.count {
        guard filled <= maximumSize else {
          throw ToolError(path: path, "larger than \(maximumSize >> 20) MiB, which no dump is")
        }
        bytes += [UInt8](repeating: 0, count: min(filled, maximumSize + 1 - filled))
      }
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe read(descriptor, $0.baseAddress! + filled, $0.count - filled)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw ToolError(path: path, unsafe String(cString: strerror(errno))) }
      guard count > 0 else { break }
      filled += count
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }

  static func exists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
  }

  /// True for a folder.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
