internal import CSignalSafe
internal import Glibc

/// Why the database could not do what it was asked for.
public struct CrashReportDatabaseError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong; an open set.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The path is empty or has a NUL character.
    public static let invalidPath = Code(description: "invalid path")
    /// Something that is not a folder lies where a folder belongs.
    public static let notADirectory = Code(description: "not a directory")
    /// The folder, or a symbolic link to it, belongs to another user who could exchange it.
    public static let foreignOwner = Code(description: "belongs to another user")
    /// Something that is not a regular file lies where a file belongs.
    public static let notARegularFile = Code(description: "not a regular file")
    /// A file is larger than any of its kind can be.
    public static let tooLarge = Code(description: "too large")
    /// The report is in the database already, pending or completed.
    public static let reportExists = Code(description: "the report exists already")
    /// A new report's file was taken away before it was finished.
    public static let newReportLost = Code(description: "the new report's file is gone")
    /// The database has no report of this ID that can be dealt with so.
    public static let noSuchReport = Code(description: "there is no such report")
    /// The system refused; `errno` says why.
    public static let fileSystemError = Code(description: "file system error")
  }

  public let code: Code
  /// What was being done, to which path, and what can be done about it.
  public let context: String
  /// The system's error number; 0 where the system had no part in it.
  public let errno: Int32

  package init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  /// A system call that failed.
  package init(systemCall context: String, errno: Int32) {
    self.init(.fileSystemError, context + Self.advice(errno), errno: errno)
  }

  public var description: String {
    guard errno != 0 else { return "\(code): \(context)" }
    return "\(code): \(context): \(Self.text(errno))"
  }

  /// strerror(3) into memory of our own: the plain call shares a buffer between threads.
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
