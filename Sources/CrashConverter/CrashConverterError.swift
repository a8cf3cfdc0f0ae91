internal import CrashReportDatabase

/// Why no dump could be processed at all.
///
/// A single dump that cannot be converted is no error: its `ProcessedDump` says so.
public struct CrashConverterError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong; an open set.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The database cannot be opened or made.
    public static let databaseUnusable = Code(description: "the database cannot be used")
    /// The folder of pending dumps cannot be read.
    public static let pendingFolderUnusable = Code(
      description: "the folder of pending dumps cannot be used")
    /// A file that was named is not there, or is no dump.
    public static let dumpUnusable = Code(description: "the dump cannot be used")
    /// The call without a database before `startHandler` has said which one it is.
    public static let handlerNotStarted = Code(description: "the crash handler was not started")
  }

  public let code: Code
  /// What was being done, to which path, and what can be done about it.
  public let context: String
  /// The system's error number; 0 where the system had no part in it.
  public let errno: Int32

  init(_ code: Code, _ error: CrashReportDatabaseError) {
    self.code = code
    context = error.description
    errno = error.errno
  }

  /// The same, with what can be done about it.
  func adding(_ advice: String) -> CrashConverterError {
    CrashConverterError(code, context: "\(context); \(advice)", errno: errno)
  }

  private init(_ code: Code, context: String, errno: Int32) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  private init(_ code: Code, context: String) {
    self.code = code
    self.context = context
    errno = 0
  }

  /// What the call without a database throws in a process without a handler.
  package static let handlerNotStarted = CrashConverterError(
    .handlerNotStarted, context: "call startHandler(database:) first, or name the database here")

  public var description: String { "\(code): \(context)" }
}
