internal import CrashReportDatabase

/// The reason why a call could not process or list any dump.
///
/// A dump that cannot be converted is not an error; the `ProcessedDump` of this dump reports the failure.
public struct CrashConverterError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add more kinds.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The database cannot be opened, made or read.
    public static let databaseUnusable = Code(description: "the database cannot be used")
    /// The directory of pending dumps cannot be made, opened or read.
    public static let pendingDirectoryUnusable = Code(
      description: "the directory of pending dumps cannot be used")
    /// The file of a dump that the caller named cannot be read, is not a dump, does not name its program, or belongs to
    /// another user.
    public static let dumpUnusable = Code(description: "the dump cannot be used")
    /// A call that did not name a database was made before `startHandler`.
    public static let handlerNotStarted = Code(description: "the crash handler was not started")
  }

  public let code: Code
  /// The operation that failed, its path, and a remedy if there is one.
  public let context: String
  /// The system's error number; 0 if no system call failed.
  public let errno: Int32

  /// Returns this error with a remedy added to its context.
  func adding(_ advice: String) -> CrashConverterError {
    CrashConverterError(code: code, context: "\(context); \(advice)", errno: errno)
  }

  /// The error of a call that names no database, in a process that has not started the handler.
  package static let handlerNotStarted = CrashConverterError(
    code: .handlerNotStarted,
    context: "call startHandler(database:) first, or name the database here", errno: 0)

  public var description: String { "\(code): \(context)" }
}

extension CrashConverterError {
  init(_ code: Code, _ error: CrashReportDatabaseError) {
    self.init(code: code, context: error.description, errno: error.errno)
  }
}
