internal import CrashReportDatabase

/// The reason why uploads could not be started or carried out.
///
/// If sending a report fails, no error is thrown: an `UploadEvent` reports the failure.
public struct UploadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add kinds.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The text is not an http or https URL with a host.
    public static let invalidURL = Code(description: "invalid URL")
    /// The text is not a DSN of a Sentry project.
    public static let invalidDSN = Code(description: "invalid DSN")
    /// The name or value of a header cannot be sent, or the uploader itself sets this header.
    public static let invalidHeader = Code(description: "invalid header")
    /// The database cannot be used, for example because its directory cannot be opened.
    public static let databaseUnusable = Code(description: "the database cannot be used")
    /// The database has no such report, or the server already has it.
    public static let noSuchReport = Code(description: "no such report to upload")
    /// Another process, or another uploader of this process, is uploading.
    public static let uploaderBusy = Code(description: "another uploader is at work")
    /// This uploader was started before; an uploader can run only once.
    public static let alreadyStarted = Code(description: "the uploader was started already")
    /// The server did not answer; `context` contains the reason and nothing else.
    package static let noAnswer = Code(description: "no answer")
    /// This process cannot send requests; `context` contains the reason.
    package static let noTransport = Code(description: "nothing can be uploaded")
    /// The task of the upload was canceled.
    static let cancelled = Code(description: "cancelled")
  }

  public let code: Code
  /// What the error is about, for example a report's ID or a header's name, and a remedy if there is one.
  public let context: String
  /// The system's error number; 0 if no system call failed.
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
