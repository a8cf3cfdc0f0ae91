/// The error that operations on a database throw.
public struct CrashReportDatabaseError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add kinds.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The path is empty or contains a NUL character; or an attachment has no absolute path or no permitted name.
    public static let invalidPath = Code(description: "invalid path")
    /// The file at the path is not a directory.
    public static let notADirectory = Code(description: "not a directory")
    /// The directory, a symbolic link to it, or a dump belongs to another user.
    public static let foreignOwner = Code(description: "belongs to another user")
    /// The directory is writable by all users, or by a group that this process is not in and does not share databases
    /// with.
    public static let writableByOthers = Code(description: "others may write to it")
    /// There is no group with that name.
    public static let invalidGroup = Code(description: "no such group")
    /// The file at the path is not a regular file.
    public static let notARegularFile = Code(description: "not a regular file")
    /// A file is larger than any valid file of its kind.
    public static let tooLarge = Code(description: "too large")
    /// The report is already in the database, pending or completed.
    public static let reportExists = Code(description: "the report exists already")
    /// A new report's file was removed before the report was finished.
    public static let newReportLost = Code(description: "the new report's file is gone")
    /// The database has no report with this ID in the state that the operation needs.
    public static let noSuchReport = Code(description: "there is no such report")
    /// The program was built for a system other than Linux with glibc.
    public static let unsupportedPlatform = Code(
      description: "crash reports are not supported here")
    /// The system refused the operation, and `errno` gives the reason; or the operation failed for another reason,
    /// which `context` gives, and `errno` is 0.
    public static let fileSystemError = Code(description: "file system error")
  }

  public let code: Code
  /// The operation that failed, the path it failed on, and a remedy if one is known.
  public let context: String
  /// The system's error number; 0 if no system call failed.
  public let errno: Int32

  package init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  public var description: String {
    guard errno != 0 else { return "\(code): \(context)" }
    return "\(code): \(context): \(Self.text(errno))"
  }
}
