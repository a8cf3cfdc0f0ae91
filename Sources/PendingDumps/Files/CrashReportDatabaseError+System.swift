internal import CSignalSafe
internal import Glibc

extension CrashReportDatabaseError {
  /// Creates the error for a system call that has failed.
  package init(systemCall context: String, errno: Int32) {
    self.init(.fileSystemError, context + Self.advice(errno), errno: errno)
  }

  /// False if an operation on any other file would fail in the same way, for example because memory or disk space is
  /// used up.
  package var concernsOneFile: Bool {
    ![EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, ENOSPC, EDQUOT].contains(errno)
  }

  /// Returns the system's description of an error number.
  ///
  /// The description comes from strerror_r(3), because before glibc 2.32, strerror(3) shares a buffer between threads.
  package static func text(_ errno: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    let failed = unsafe strerror_r(errno, &buffer, buffer.count)
    guard failed == 0 else { return "errno \(errno)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func advice(_ errno: Int32) -> String {
    switch errno {
    case EACCES, EPERM:
      " (give user \(pm_file_user()) read, write and search permission there, or choose another path)"
    case EROFS: " (choose a path on a file system that is mounted for writing)"
    case ENOSPC, EDQUOT: " (make room there, or choose another path)"
    case ENAMETOOLONG: " (choose a shorter path)"
    default: ""
    }
  }
}
