internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// A file that the command line names; files other than core files have a maximum size.
enum InputFile {
  /// The maximum size in bytes: twice that of the largest dump that a converter reads.
  static let maximumSize = 1 << 30

  /// Reads a regular file.
  ///
  /// The file is opened without blocking, so that a FIFO is refused at once instead of blocking the command.
  static func bytes(of path: String) throws(ToolError) -> [UInt8] {
    try withFile(path) { (descriptor, size) throws(ToolError) in
      try contents(of: descriptor, expected: size, named: path)
    }
  }

  /// Opens a dump; a small dump is read completely, and the bytes of a larger dump are read when they are needed.
  ///
  /// The size of a core file is not limited; other files may have at most `maximumSize` bytes.
  static func dump(at path: String, _ core: CoreSource = CoreSource()) throws(ToolError)
    -> DumpBytes
  {
    try withFile(path, limit: .max) { (descriptor, size) throws(ToolError) in
      try dump(descriptor, size, named: path, core)
    }
  }

  /// Does the same for an open file of a size.
  static func dump(
    _ descriptor: Int32, _ size: Int, named path: String, _ core: CoreSource
  ) throws(ToolError) -> DumpBytes {
    if let bytes = DumpBytes(descriptor: descriptor, count: size), isLarge(bytes) {
      return try core.uncompressed(bytes, descriptor, named: path)
    }
    guard size <= maximumSize else { throw tooLarge(path) }
    guard size > DumpBytes.smallSize else {
      return DumpBytes(try contents(of: descriptor, expected: size, named: path))
    }
    guard let bytes = DumpBytes(descriptor: descriptor, count: size) else {
      throw ToolError(path: path, ToolError.text(errno))
    }
    return bytes
  }

  static func withFile<Result>(
    _ path: String, limit: Int = maximumSize,
    _ body: (_ descriptor: Int32, _ size: Int) throws(ToolError) -> Result
  ) throws(ToolError) -> Result {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw ToolError(path: path, ToolError.text(errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw ToolError(path: path, ToolError.text(errno))
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ToolError(path: path, "not a regular file")
    }
    guard status.st_size <= limit else { throw tooLarge(path) }
    return try body(descriptor, Int(status.st_size))
  }

  /// Makes a file the standard input of this process.
  static func becomeStandardInput(_ path: String) throws(ToolError) {
    try withFile(path) { (descriptor, _) throws(ToolError) in
      guard dup2(descriptor, 0) == 0 else { throw ToolError(path: path, ToolError.text(errno)) }
    }
  }

  private static func contents(
    of descriptor: Int32, expected: Int, named path: String
  ) throws(ToolError) -> [UInt8] {
    // The buffer has room for one more byte than expected, so it need not grow before a read finds the end.
    var bytes = [UInt8](repeating: 0, count: expected + 1)
    var filled = 0
    while true {
      if filled == bytes.count {
        guard filled <= maximumSize else { throw tooLarge(path) }
        bytes += [UInt8](repeating: 0, count: min(filled, maximumSize + 1 - filled))
      }
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe read(descriptor, $0.baseAddress.map { unsafe $0 + filled }, $0.count - filled)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw ToolError(path: path, ToolError.text(errno)) }
      guard count > 0 else { break }
      filled += count
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }

  static func tooLarge(_ path: String) -> ToolError {
    ToolError(path: path, "larger than \(maximumSize >> 20) MiB, which no dump is")
  }

  static func exists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
  }

  /// The device and inode of a file, after following links; empty if the file does not exist, or if its status cannot
  /// be read.
  static func identity(of path: String) -> [UInt64] {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : []
  }

  /// The names in a directory, in arbitrary order; empty if the directory cannot be read.
  static func names(in directory: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Throws unless the directory exists and this user can read and search it.
  static func requireDirectory(_ path: String) throws(ToolError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
    let failure = errno
    guard descriptor >= 0 else {
      throw ToolError(path: path, failure == ENOENT ? "no such directory" : ToolError.text(failure))
    }
    close(descriptor)
    guard unsafe access(path, X_OK) == 0 else { throw ToolError(path: path, ToolError.text(errno)) }
  }
}
