internal import Glibc

/// Finds out whether any process has the read end of a FIFO open, by trying to open the FIFO for writing.
///
/// Source: fifo(7), ENXIO of a non-blocking open.
package enum FIFOProbe: Sendable, Equatable {
  case hasReader
  case noReader
  case missing
  /// The file is not a FIFO, or cannot be opened.
  case unreadable

  /// Examines a FIFO.
  ///
  /// - Parameter directory: the descriptor of the FIFO's directory.
  package static func look(at name: String, in directory: Int32) -> FIFOProbe {
    var status = stat()
    guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      return errno == ENOENT ? .missing : .unreadable
    }
    // A file that is not a FIFO is not opened, because opening a device can have side effects.
    guard status.st_mode & S_IFMT == S_IFIFO else { return .unreadable }
    let descriptor = unsafe openat(
      directory, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENXIO: return .noReader
      case ENOENT: return .missing
      default: return .unreadable
      }
    }
    defer { close(descriptor) }
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      return .unreadable
    }
    return .hasReader
  }
}
