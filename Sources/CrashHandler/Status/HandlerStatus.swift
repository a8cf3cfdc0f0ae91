/// Whether a crash of this process would be captured, and what stands in the way.
public struct HandlerStatus: Sendable, Equatable, CustomStringConvertible {
  /// One thing that stands in the way.
  public struct Finding: Sendable, Equatable, CustomStringConvertible {
    /// The kind of finding; an open set.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
      public let description: String

      /// This process has no handler.
      public static let notStarted = Code(description: "not started")
      /// A crash signal has another action than the handler's.
      public static let replaced = Code(description: "replaced")
      /// The signal that stops threads in a crash, or the one that bounds its time, has another
      /// action.
      public static let stopSignalTaken = Code(description: "stop signal taken")
      /// A thread blocks signals that an instruction raises: such a fault kills the process without
      /// any handler being run.
      ///
      /// With glibc 2.41 or newer SIGABRT too, which `abort` there does not open.
      public static let blocked = Code(description: "blocked")
      /// A crash could not read `/proc`, which a filter (Landlock, seccomp) has closed since the start: its
      /// report would have no mappings, other threads or open files.
      public static let procClosed = Code(description: "proc closed")
      /// A signal handler of the program's blocks such signals while it runs, by its `sa_mask`.
      public static let blockedInHandler = Code(description: "blocked in handler")
      /// `HandlerOptions.recordsThrowSites` is on, and the Swift runtime has no hook for it.
      public static let throwsNotRecorded = Code(description: "throws not recorded")
      /// Threads were made that have no alternate signal stack: a stack overflow there kills the process
      /// without any handler being run.
      public static let noAlternateStack = Code(description: "no alternate stack")
    }

    public let code: Code
    /// The signal's number; nil where the finding is not about one.
    public let signal: Int32?
    /// The kernel's ID of the thread; nil where the finding is not about one.
    public let threadID: Int32?
    /// One line for a log.
    public let description: String

    init(_ code: Code, signal: Int32? = nil, threadID: Int32? = nil, _ description: String) {
      self.code = code
      self.signal = signal
      self.threadID = threadID
      self.description = description
    }
  }

  /// Empty if all is well.
  public let findings: [Finding]

  /// The findings, a line each.
  public var description: String {
    findings.isEmpty
      ? "the crash handler is in place"
      : findings.map(\.description).joined(separator: "\n")
  }
}
