public import IntermediateDump

/// Options for the handler; each has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// How much a dump may contain, and how long the handling of a crash may take.
  public var limits = CaptureLimits()
  /// The signals that count as crashes.
  ///
  /// A signal that is ignored when `startHandler` is called stays ignored.
  public var signals = HandledSignals.standard
  /// Whether dumps contain the program's arguments, which may contain credentials.
  ///
  /// The handler never records the environment, but captured memory may contain copies of it.
  public var capturesArguments = true
  /// Whether dumps contain facts that may identify the machine or the user: host name, container, working directory,
  /// paths of open files, user and group IDs, and time zone.
  ///
  /// If this option is off, dumps still contain the kinds of up to 256 open files. They also still contain the
  /// executable's path and the process's memory, which may identify the machine or the user. Any `privacy` other than
  /// `full` leaves out the same facts, but not the container.
  public var capturesSurroundings = true
  /// How much dumps and their reports leave out for privacy.
  ///
  /// With levels other than `full`, handling a crash takes longer: see `Docs/Internals/Benchmarks.md`. With
  /// `noMemory`, the dump still contains the addresses on its stacks until it is converted, because the converter
  /// needs these addresses to find frames.
  public var privacy = ReportPrivacy.full
  /// System calls that the handler must not make in a crash, because a seccomp filter kills a process that makes
  /// them.
  ///
  /// `Docs/Internals/SystemCalls.md` lists the system calls that the handler makes in a crash.
  public var forgoing: SystemCalls = []

  /// Whether the handler writes a summary of a crash to standard error, for logs.
  ///
  /// The summary shows, for example, the signal, the message, the contexts and the innermost frames. It also contains
  /// a small dump, from which `postmortem symbolicate` makes a report. No summary is written if
  /// standard error was closed when the handler started, or refers to a different file when the process crashes. None
  /// is written if the program has more privileges than the user who started it, or if `forgoing` contains `threads`.
  public var writesSummary = true

  /// Whether every thread gets an alternate signal stack.
  ///
  /// If a thread without an alternate stack overflows its normal stack, the process ends without a dump.
  ///
  /// When the handler starts, it sends one signal to each existing thread that does not block it, so a call such as
  /// `nanosleep` or `poll` may fail with EINTR. If this option is off, only the thread that calls `startHandler` and
  /// threads that call `installAlternateStack` get an alternate stack.
  public var alternateStacksOnAllThreads = true

  /// Whether SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGSYS stay unblocked even in threads that ask to block them.
  ///
  /// If this option is off, the kernel ends the process without a dump when a thread crashes with a signal that it
  /// blocks.
  ///
  /// `pthread_sigmask` and `sigprocmask` leave these signals out of what they block, so `sigwait` and a signalfd do not
  /// see one that is sent. With glibc 2.41 or newer, SIGABRT also stays unblocked in the worker threads of libdispatch,
  /// and `abort` unblocks it. This option needs the package trait Interposition. `Docs/Reference/Interposition.md` lists
  /// its limits.
  public var keepsCrashSignalsOpen = true

  /// Paths of files that are attached to the reports from dumps of this process, as if passed to `addAttachment`.
  public var attachments: [String] = []

  /// Whether a report is created if this process ends without a dump and without exiting, for example because it was
  /// killed or memory ran out.
  ///
  /// Such a report is uploaded only on request. If SIGTERM, SIGINT, SIGHUP or SIGPIPE has its default action, this
  /// option installs a handler for that signal; the default action still follows. This option has no effect if
  /// `forgoing` contains `.files`.
  public var reportsUncleanEnds = true

  /// Whether `postmortem capture`, run by the same user or root, may make this process take a dump and continue.
  ///
  /// The option costs nothing until a dump is requested, because the request is sent with the stop signal, which has
  /// a handler anyway. The option is always off in a program with more privileges than its caller (set-user-ID).
  public var takesDumpRequests = true

  /// Whether a report on an error that left `main`, or on which `try!` trapped, shows where the error was thrown.
  ///
  /// The handler sets the Swift runtime's hook for throws, which records the last 4 throws of each of 256 threads and
  /// calls the previous hook. Each `throw` takes some tens of nanoseconds longer, and the records take up to 102 KiB of
  /// memory. Propagating an error through `try` costs nothing. The record leaves out callers that cannot be found
  /// through frame pointers, and callers that are not on the thread's normal stack.
  public var recordsThrowSites = false

  /// The time between heartbeats, at least 100 milliseconds; nil for no heartbeats.
  ///
  /// A heartbeat records, for example, the time, memory use and the last breadcrumbs. So the report on a killed process
  /// shows when it was killed, accurate to one interval, and what it did last. This option costs one thread. Each
  /// heartbeat reads about ten small system files and, at most every five seconds, the locks of the open files. It
  /// makes one write of 2 KiB. A `HangMonitor` writes a heartbeat every two seconds even without this option. The
  /// option has no effect without `reportsUncleanEnds`, and no effect in forked children.
  public var heartbeatInterval: Duration?

  /// The group, by name or number, whose members may also use the database.
  ///
  /// For example, a sidecar container can then convert dumps as another user.
  ///
  /// The database's directories get that group and the mode 02770; its files get the mode 0660. Without this option, a
  /// directory that a group may write to is refused; but if it is a mount point, the database is a subdirectory of it.
  public var sharedGroup: String?

  /// Creates options with the default values.
  public init() {}
}
