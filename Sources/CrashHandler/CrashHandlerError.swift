internal import Glibc

/// Why the handler could not be started; says what to do.
public struct CrashHandlerError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; an open set.
  public struct Code: Sendable, Hashable {
    let text: String
    /// The database folder, or a folder in it, cannot be made or written.
    public static let unusableDatabase = Code(text: "the crash database cannot be used")
    /// The handler runs already, with another database.
    public static let alreadyStarted = Code(text: "the crash handler was started already")
    /// An identifier with characters other than `[A-Za-z0-9._-]`, or longer than 128.
    public static let invalidIdentifier = Code(text: "the identifier cannot be used")
    /// The kernel refused memory or a signal action.
    public static let notInstalled = Code(text: "the crash handler could not be installed")
    /// What was asked for needs a handler, and there is none in this process.
    public static let notStarted = Code(text: "the crash handler was not started")
    /// A dump without a crash could not be taken or written.
    public static let dumpFailed = Code(text: "no dump was taken")
  }

  public let code: Code
  /// What was tried, on which path, and what would help.
  public let context: String
  /// The errno of the failed call; 0 where no call failed.
  public let errorNumber: Int32

  /// What calls that need a handler throw without one.
  package static let handlerNotStarted = CrashHandlerError(
    .notStarted, "call startHandler(database:) first")

  /// What is thrown where the thread that watches for hangs cannot be made.
  package static func noThread(errorNumber: Int32) -> CrashHandlerError {
    CrashHandlerError(.notInstalled, "the system refuses a thread", errorNumber: errorNumber)
  }

  init(_ code: Code, _ context: String, errorNumber: Int32 = 0) {
    self.code = code
    self.context = context
    self.errorNumber = errorNumber
  }

  public var description: String {
    let reason = errorNumber == 0 ? "" : unsafe " (\(String(cString: strerror(errorNumber))))"
    return "\(code.text): \(context)\(reason)"
  }
}
