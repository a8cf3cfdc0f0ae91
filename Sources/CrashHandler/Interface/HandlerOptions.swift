public import IntermediateDump

/// Options of the handler; each has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// Limits of a dump.
  public var limits = CaptureLimits()
  /// Signals that are crashes.
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
  /// If it is off, dumps still contain the kinds of descriptors. The path of the executable and the memory of the
  /// process may identify machine or user too. Any `privacy` except `full` leaves out the same facts, except the
  /// container.
  public var capturesSurroundings = true
  /// The secrets that dumps and their reports may contain.
  ///
  /// Other levels than `full` make a crash take longer: `Docs/Internals/Benchmarks.md`. With `noMemory` a dump
  /// contains the addresses on its stacks until it is converted, because frames are found by them.
  public var privacy = ReportPrivacy.full
  /// System calls that a crash must not make, because a seccomp filter kills the process on them.
  ///
  /// `Docs/Internals/SystemCalls.md` lists those that a crash makes.
  public var forgoing: SystemCalls = []

  /// Whether a crash leaves a summary on standard error: signal, message, report ID and the
  /// crashing thread's frames, for logs.
  ///
  /// It is one line if Swift's own backtracer prints. Nothing is printed if standard error was closed when the
  /// handler started, or is another file by then.
  public var writesSummary = true

  /// Whether every thread gets an alternate stack, without which an overflow of its own stack ends
  /// the process with no dump.
  ///
  /// Existing threads are interrupted once for this, so that calls such as `nanosleep` and `poll` may end with EINTR
  /// in them. If it is off, only the thread that calls `startHandler` and threads that call `installAlternateStack`
  /// get one.
  public var alternateStacksOnAllThreads = true

  /// Whether SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT stay unblocked in threads that block them.
  ///
  /// Otherwise the kernel ends the process at such a crash without a dump.
  ///
  /// `pthread_sigmask` and `sigprocmask` return the mask that was set, and programs started by `posix_spawn` or
  /// `exec` begin with it. If a process sends one of these signals to a thread that blocks it, the signal still
  /// reaches `sigwait` or a signalfd, or stays pending, and the thread blocks it from then on. This needs the trait
  /// Interposition. `Docs/Reference/Handler.md` lists its limits.
  public var keepsCrashSignalsOpen = true

  /// Paths of files that are copied next to every report of this process, as by `addAttachment`.
  public var attachments: [String] = []

  /// Whether the next start reports how this run ended, if it ends without a dump and does not end itself: out of
  /// memory, killed, and so on.
  ///
  /// Such a report is uploaded only on request. SIGTERM, SIGINT, SIGHUP and SIGPIPE get a handler if their action is
  /// the default; the default action still follows. Has no effect if `forgoing` contains `.files`.
  public var reportsUncleanEnds = true

  /// Whether `postmortem capture`, run by the same user or root, may make this process take a dump and continue.
  ///
  /// It costs nothing until then, because the handler uses the signal anyway. It is always off in a program with more
  /// privileges than its caller (set-user-ID).
  public var takesDumpRequests = true

  /// Whether the report of an error that leaves `main`, or that `try!` meets, says where it was thrown.
  ///
  /// The handler sets the Swift runtime's hook for throws, which records the last 4 throws of each of 256 threads and
  /// calls the previous hook. Each `throw` takes some tens of nanoseconds longer, and the first one needs 90 KiB of
  /// memory; rethrown errors cost nothing. Callers are found by frame pointers and only on the threads' own stacks,
  /// so callers of functions without a frame pointer are missing.
  public var recordsThrowSites = false

  /// The time between heartbeats, at least 100 milliseconds; nil for no heartbeats.
  ///
  /// A heartbeat records time, memory and the last breadcrumbs. So the report of a killed run shows when it was
  /// killed, accurate to one interval, and what the program did last. It costs a thread, and each heartbeat reads
  /// about 15 small files of /proc and makes one write of 2 KiB. A `HangMonitor` writes a heartbeat every two seconds
  /// without this option. The option has no effect without `reportsUncleanEnds`, and in forked children.
  public var heartbeatInterval: Duration?

  /// The group, by name or number, whose members may also use the database, such as a sidecar container that converts
  /// dumps under another user.
  ///
  /// The database's directories get that group and mode 02770, its files 0660. Without this option, a database that a
  /// group may write to is refused.
  public var sharedGroup: String?

  /// Makes options with the defaults.
  public init() {}
}
