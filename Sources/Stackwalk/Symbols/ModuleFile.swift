internal import Glibc

/// A module's file on this machine, read at offsets and never as a whole.
///
/// Reading, not mapping: a file that is truncated while it is read must not raise SIGBUS.
struct ModuleFile: ~Copyable {
  private let descriptor: Int32
  let size: UInt64

  /// Opens a regular file.
  ///
  /// A dump names its modules freely, so the path may be anything: a FIFO does not block, a device
  /// is not touched.
  init(path: String) throws(StackwalkError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw StackwalkError(.cannotOpen, path: path, errno: errno) }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else {
      let failure = errno
      close(descriptor)
      throw StackwalkError(.cannotOpen, path: path, errno: failure)
    }
    guard information.st_mode & S_IFMT == S_IFREG, information.st_size >= 0 else {
      close(descriptor)
      throw StackwalkError(.notAFile, path: path)
    }
    self.descriptor = descriptor
    size = UInt64(information.st_size)
  }

  deinit { close(descriptor) }

  /// `count` bytes at an offset; nil unless the file has all of them.
  func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
    guard count >= 0, offset <= size, UInt64(count) <= size &- offset else { return nil }
    var isComplete = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let result = unsafe pread(
          descriptor, buffer.baseAddress! + initialized, count - initialized,
          off_t(clamping: offset) + initialized)
        if result < 0 && errno == EINTR { continue }
        guard result > 0 else {
          isComplete = false
          break
        }
        initialized += result
      }
    }
    return isComplete ? bytes : nil
  }

  /// The bytes at an offset up to a NUL; nil if there is none within `limit` bytes.
  func string(at offset: UInt64, limit: Int) -> String? {
    guard offset < size else { return nil }
    var length = min(256, Int(clamping: min(UInt64(limit), size &- offset)))
    while let bytes = bytes(at: offset, count: length) {
      if let end = bytes.firstIndex(of: 0) { return String(decoding: bytes[..<end], as: UTF8.self) }
      let longest = Int(clamping: min(UInt64(limit), size &- offset))
      guard length < longest else { return nil }
      length = longest
    }
    return nil
  }
}
