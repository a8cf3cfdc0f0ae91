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

  public var description: String { "\(code): \(context)" }
}
