/// The reason why the handler could not be started, or why a dump could not be taken.
public struct CrashHandlerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add kinds.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The database's directory, or a directory inside it, cannot be created, written or trusted, or the group in
    /// `sharedGroup` does not exist.
    public static let unusableDatabase = Code(description: "the crash database cannot be used")
    /// The handler was already started with another database.
    public static let alreadyStarted = Code(description: "the crash handler was started already")
    /// The identifier is empty, has characters other than `[A-Za-z0-9._-]`, has more than 128 characters, or consists
    /// only of dots.
    public static let invalidIdentifier = Code(description: "the identifier cannot be used")
    /// The kernel refused memory, a thread, an alternate stack or a signal action, the process has no free key for
    /// thread-specific data, or the program is built with ThreadSanitizer.
    public static let notInstalled = Code(description: "the crash handler could not be installed")
    /// The call needs a handler, and this process has none.
    public static let notStarted = Code(description: "the crash handler was not started")
    /// `POSTMORTEM_DISABLE` is set in the environment, and is neither empty nor 0.
    public static let disabled = Code(description: "the crash handler is disabled")
    /// The program was built for a system other than Linux with glibc.
    public static let unsupportedPlatform = Code(
      description: "crash handling is not supported here")
    /// A dump that the program or a hang monitor requested could not be taken or written.
    public static let dumpFailed = Code(description: "no dump was taken")
  }

  public let code: Code
  /// The operation that failed, the path that it used, and a remedy if one is known.
  public let context: String
  /// The system's error number; 0 if no system call failed.
  public let errno: Int32

  /// The error for a call that needs a handler, in a process without one.
  package static let handlerNotStarted = CrashHandlerError(
    .notStarted, "call startHandler(database:) first")

  /// The error if the system cannot create the thread of the hang monitors or the thread that writes heartbeats.
  package static func noThread(errno: Int32) -> CrashHandlerError {
    CrashHandlerError(.notInstalled, "the system did not create a thread", errno: errno)
  }

  init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  public var description: String {
    let reason = errno == 0 ? "" : " (\(systemErrorText(errno)))"
    return "\(code): \(context)\(reason)"
  }
}
