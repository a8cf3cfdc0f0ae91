public import IntermediateDump

/// Options of the handler; each has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// Limits of a dump.
  public var limits = CaptureLimits()
  /// Signals that are crashes.
  ///
  /// One that is ignored at `startHandler` stays ignored.
  public var signals = HandledSignals.standard
  /// Whether dumps hold the program's arguments, which may be credentials.
  ///
  /// The environment is never in a dump.
  public var capturesArguments = true
  /// Whether dumps hold what tells of the machine's or the program's user: host name, container, working
  /// directory, paths of open descriptors, user and group numbers, time zone.
  ///
  /// Off, the kinds of descriptors stay. The path of the executable and the memory of the process may
  /// tell of them too. Any `privacy` but `full` leaves out the same, except for the container.
  public var capturesSurroundings = true
  /// The secrets that dumps and the reports made of them may hold.
  ///
  /// Anything but `full` costs part of the time of a crash: `Docs/Internals/Benchmarks.md`. With `noMemory` a dump has
  /// the addresses on its stacks until it is converted, for they are what frames are found by.
  public var privacy = ReportPrivacy.full
  /// System calls that a crash must not make, because a seccomp filter kills the process on them.
  ///
  /// `Docs/Internals/SystemCalls.md` lists those that a crash makes.
  public var forgoing: SystemCalls = []

  /// Whether a crash leaves a summary on standard error: signal, message, report ID and the
  /// crashing thread's frames, for logs.
  ///
  /// One line where Swift's own backtracer prints; nothing where standard error was
  /// closed or another file when the handler was started.
  public var writesSummary = true

  /// Whether every thread gets an alternate stack, without which an overflow of its own stack ends
  /// the process with no dump.
  ///
  /// Threads that exist are interrupted for it once, so that calls such as `nanosleep` and `poll`
  /// may end with EINTR in them. Off, only the thread that calls `startHandler` gets one, and those
  /// that call `installAlternateStack`.
  public var alternateStacksOnAllThreads = true

  /// Whether SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT stay open in threads that block
  /// them, where the kernel would end the process at such a crash without a dump.
  ///
  /// `pthread_sigmask` and `sigprocmask` give the mask that was set, and programs that are started by
  /// `posix_spawn` or `exec` begin with it. One of these signals that somebody sends to a thread that
  /// blocks it goes on to `sigwait`, a signalfd or what is pending, and is blocked there from then on. Needs
  /// the trait Interposition. `Docs/Reference/Handler.md` has what it does not reach.
  public var keepsCrashSignalsOpen = true

  /// Paths of files that are copied beside every report of this process, as by `addAttachment`.
  public var attachments: [String] = []

  /// Whether the next start says how this run ended, where it ends without a dump and not by its own
  /// will: out of memory, killed, and so on.
  ///
  /// Such a report is uploaded only on request. TERM, INT, HUP and PIPE get a handler
  /// where their action is the default, which follows then as ever. Not where `forgoing` has
  /// `.files`.
  public var reportsUncleanEnds = true

  /// Whether `postmortem capture`, run by the same user or root, may have this process take a dump and go
  /// on.
  ///
  /// Costs nothing until then: the signal is one that the handler has anyway. Always off in a program with
  /// more rights than its caller's (set-user-ID).
  public var takesDumpRequests = true

  /// Whether the report of an error that leaves `main`, or that `try!` meets, says where it was thrown.
  ///
  /// The handler has the Swift runtime's hook for throws note the last 4 of each thread, of 256 threads, and
  /// calls the previous hook. Costs each `throw` some tens of nanoseconds, and 90 KiB of
  /// memory once errors are thrown; errors that are passed on cost nothing. Callers are found by frame
  /// pointers, so that those of functions without one are missing, and on the threads' own stacks only.
  public var recordsThrowSites = false

  /// The time between heartbeats, at least 100 milliseconds; nil for none.
  ///
  /// A heartbeat notes time, memory and the last breadcrumbs, so that the report of a run that was
  /// killed says when, to one interval, and what the program did last. Costs a thread, and for each
  /// heartbeat some 15 small files of /proc and one write of 2 KiB; nothing while it is nil. A
  /// `HangMonitor` writes one every two seconds by itself. Nothing without `reportsUncleanEnds`, and in
  /// forked children.
  public var heartbeatInterval: Duration?

  /// The group, by name or number, whose members may use the database too, such as a container beside
  /// this one that converts under another user.
  ///
  /// The database's directories get that group and mode 02770, its files 0660. Without it a database to
  /// which a group may write is refused.
  public var sharedGroup: String?

  /// Makes options with the defaults.
  public init() {}
}
