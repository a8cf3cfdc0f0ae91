/// Whether a crash of this process would be captured, and if not, why.
public struct HandlerStatus: Sendable, Equatable, CustomStringConvertible {
  /// One reason why a crash would not be captured, or would be captured only in part.
  public struct Finding: Sendable, Equatable, CustomStringConvertible {
    /// The kind of finding; later versions may add kinds.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
      public let description: String

      /// This process has no handler.
      public static let notStarted = Code(description: "not started")
      /// A crash signal has another handler, or none at all.
      public static let replaced = Code(description: "replaced")
      /// The signal that stops threads in a crash, or the watchdog's signal, no longer has this package's handler.
      public static let stopSignalTaken = Code(description: "stop signal taken")
      /// A thread blocks signals of faults.
      ///
      /// If that thread has a fault whose signal it blocks, the kernel kills the process, and no handler runs.
      ///
      /// With glibc 2.41 or newer, one such finding is about the threads that block SIGABRT, because libc's `abort` no
      /// longer unblocks it. If libc itself aborts in such a thread, as after heap damage, there is no dump.
      public static let blocked = Code(description: "blocked")
      /// In a crash, the handler would be unable to read `/proc`, for example because the process has given up its
      /// access (Landlock, seccomp).
      ///
      /// The report would lack mappings, other threads and open files.
      public static let procClosed = Code(description: "proc closed")
      /// The `sa_mask` of one of the program's signal handlers blocks signals of faults while that handler runs.
      public static let blockedInHandler = Code(description: "blocked in handler")
      /// `HandlerOptions.recordsThrowSites` is on, but the Swift runtime has no hook for throws.
      public static let throwsNotRecorded = Code(description: "throws not recorded")
      /// Some threads got no alternate signal stack, because memory or keys for thread-specific data were used up.
      ///
      /// A stack overflow on such a thread kills the process, and no handler runs.
      public static let noAlternateStack = Code(description: "no alternate stack")
      /// The database's file system changes the numbers of its inodes, as some FUSE servers do, and the kernel refuses to
      /// compare descriptors (kcmp).
      ///
      /// The handler then cannot recognize its own files, and writes no dump rather than into a file of the program.
      public static let filesNotRecognized = Code(description: "files not recognized")
      /// The process's uploader sends nothing, for example because libcurl would call functions of the program instead
      /// of its own libraries' functions.
      ///
      /// A crash would be captured, and another process can upload its report (`postmortem watch`).
      public static let noUploads = Code(description: "no uploads")
    }

    public let code: Code
    /// The signal's number; nil if the finding is not about a signal.
    public let signal: Int32?
    /// The kernel's ID of the thread; nil if the finding is not about a thread.
    public let threadID: Int32?
    /// The finding in words, as one line for a log.
    public let description: String

    init(_ code: Code, signal: Int32? = nil, threadID: Int32? = nil, _ description: String) {
      self.code = code
      self.signal = signal
      self.threadID = threadID
      self.description = description
    }
  }

  /// The findings; empty if the check found nothing that prevents or limits a capture.
  public let findings: [Finding]

  /// The findings, one per line; if there are none, the sentence that the handler is in place.
  public var description: String {
    findings.isEmpty
      ? "the crash handler is in place"
      : findings.map(\.description).joined(separator: "\n")
  }
}
