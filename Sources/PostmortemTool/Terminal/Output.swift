internal import Glibc

/// Writes bytes to descriptors: all that the command prints, and all that it writes into files of its users.
enum Output {
  /// Writes all bytes; waits while a descriptor that does not block has no room.
  ///
  /// - Parameter name: the name of the destination, which errors show.
  /// - Throws: `ToolError.unread` if the reader of a pipe has closed it; another `ToolError` for other failures.
  static func write(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, named name: String
  ) throws(ToolError) {
    var bytes = bytes
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if written > 0 {
        bytes = bytes.dropFirst(written)
        continue
      }
      switch written < 0 ? errno : EIO {
      case EINTR: continue
      case EAGAIN:
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&ready, 1, -1)
      case EPIPE: throw .unread
      case let failure: throw ToolError(path: name, ToolError.text(failure))
      }
    }
  }

  /// Finds the failures that a file system, such as NFS, reports only when a descriptor of the file is closed.
  static func flush(_ descriptor: Int32, named name: String) throws(ToolError) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0, close(copy) != 0, errno != EINTR else { return }
    throw ToolError(path: name, ToolError.text(errno))
  }
}
