public import IntermediateDump

/// Options of the handler; each has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// Limits of a dump.
  public var limits = CaptureLimits()
  /// The signals that count as crashes.
  ///
  /// A signal that is ignored when `startHandler` is called stays ignored.
  public var signals = HandledSignals.standard
  /// Whether dumps contain the program's arguments, which may contain credentials.
  ///
  /// The environment is never in a dump.
  public var capturesArguments = true
  /// Whether dumps contain facts that may identify the machine or the user: host name, container, working directory,
  /// paths of open descriptors, user and group numbers, time zone.
  ///
  /// If this option is off, dumps still contain the kinds of open descriptors. The path of the executable and the
  /// memory of the process may also identify the machine or the user. Any `privacy` other than `full` leaves out the
  /// same facts, except the container.
  public var capturesSurroundings = true
  /// Which secrets dumps and their reports may contain.
  ///
  /// Levels other than `full` make a crash take longer: see `Docs/Internals/Benchmarks.md`. With `noMemory`, a dump
  /// still contains the addresses on its stacks until it is converted, because the conversion finds frames with them.
  public var privacy = ReportPrivacy.full
  /// System calls that the handler must not make in a crash, because a seccomp filter kills the process on these
  /// calls.
  ///
  /// `Docs/Internals/SystemCalls.md` lists the system calls that a crash makes.
  public var forgoing: SystemCalls = []

  /// Whether a crash writes a summary to standard error, for logs.
  ///
  /// The summary has the signal, the message, the report ID and the crashing thread's frames.
  ///
  /// The summary has only one line if Swift's own backtracer prints the crash. Nothing is printed if standard error
  /// was closed when the handler started, or refers to another file at the time of the crash.
  public var writesSummary = true

  /// Whether every thread gets an alternate signal stack.
  ///
  /// If a thread without an alternate stack overflows its normal stack, the process ends without a dump.
  ///
  /// For this, each existing thread is interrupted once, so a call such as `nanosleep` or `poll` in that thread may
  /// end with EINTR. If this option is off, only the thread that calls `startHandler` and threads that call
  /// `installAlternateStack` get an alternate stack.
  public var alternateStacksOnAllThreads = true

  /// Whether SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT stay unblocked even in threads that ask to
  /// block them.
  ///
  /// If this option is off, the kernel ends the process without a dump when a thread that blocks the signal crashes.
  ///
  /// `pthread_sigmask` and `sigprocmask` still return the mask that the program set, and programs started by
  /// `posix_spawn` or `exec` begin with that mask. If a process sends one of these signals to a thread that asked to
  /// block it, the signal still reaches `sigwait` or a signalfd, or stays pending. From then on, the thread really
  /// blocks the signal. This option needs the trait Interposition. `Docs/Reference/Handler.md` lists its limits.
  public var keepsCrashSignalsOpen = true

  /// Paths of files that are attached to every report of this process, as if passed to `addAttachment`.
  public var attachments: [String] = []

  /// Whether the next start reports how this run ended, if it was ended from outside without a dump.
  ///
  /// Examples are runs that were killed, and runs that ended because memory ran out.
  ///
  /// Such a report is uploaded only on request. SIGTERM, SIGINT, SIGHUP and SIGPIPE get a handler if their action is
  /// the default. After that handler, the default action is still taken. This option has no effect if `forgoing`
  /// contains `.files`.
  public var reportsUncleanEnds = true

  /// Whether `postmortem capture`, run by the same user or root, may make this process take a dump and continue.
  ///
  /// The option costs nothing until a dump is requested, because the handler uses the signal anyway. The option is
  /// always off in a program with more privileges than its caller (set-user-ID).
  public var takesDumpRequests = true

  /// Whether the report of an error that left `main`, or that made `try!` trap, shows where the error was thrown.
  ///
  /// The handler sets the Swift runtime's hook for throws, which records the last 4 throws of each of 256 threads and
  /// calls the previous hook. Each `throw` takes some tens of nanoseconds longer, and the first `throw` allocates 90
  /// KiB of memory. Rethrown errors cost nothing. Callers are found through frame pointers, and only on the threads'
  /// normal stacks. So callers of functions without a frame pointer are missing.
  public var recordsThrowSites = false

  /// The time between heartbeats, at least 100 milliseconds; nil for no heartbeats.
  ///
  /// A heartbeat records time, memory and the last breadcrumbs. So the report of a killed run shows when the run was
  /// killed, accurate to one interval, and what the program did last. This option costs one thread, and each
  /// heartbeat reads about 15 small files of /proc and makes one write of 2 KiB. A `HangMonitor` writes a heartbeat
  /// every two seconds without this option. The option has no effect without `reportsUncleanEnds`, and no effect in
  /// forked children.
  public var heartbeatInterval: Duration?

  /// The group, by name or number, whose members may also use the database.
  ///
  /// An example is a sidecar container that converts dumps as another user.
  ///
  /// The database's directories get that group and the mode 02770; its files get the mode 0660. Without this option,
  /// a database that a group may write to is refused.
  public var sharedGroup: String?

  /// Creates options with the default values.
  public init() {}
}
