internal import CrashReportDatabase

/// Why uploading could not be started, or not be done at all.
///
/// That one upload failed is no error: an `UploadEvent` says so, and it is tried again.
public struct UploadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong; an open set.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The text is no URL of http or https with a host.
    public static let invalidURL = Code(description: "invalid URL")
    /// A header's or field's name or value cannot be sent.
    public static let invalidHeader = Code(description: "invalid header")
    /// The database cannot be used.
    public static let databaseUnusable = Code(description: "the database cannot be used")
    /// The database has no such report, or the server has it already.
    public static let noSuchReport = Code(description: "no such report to upload")
    /// Another process, or another uploader of this one, is at work.
    public static let uploaderBusy = Code(description: "another uploader is at work")
    /// The call without a database before `startHandler` has said which one it is.
    public static let handlerNotStarted = Code(description: "the crash handler was not started")
  }

  public let code: Code
  /// What was being done, and what can be done about it.
  public let context: String
  /// The system's error number; 0 where the system had no part in it.
  public let errno: Int32

  package init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  init(_ error: CrashReportDatabaseError) {
    self.init(.databaseUnusable, error.description, errno: error.errno)
  }

  public var description: String { "\(code): \(context)" }
}
