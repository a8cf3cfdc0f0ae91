internal import CrashConverter
internal import FoundationEssentials
@unsafe @preconcurrency internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Runs a program as a child of this process, passes signals on to the program, and then ends this process in the way
/// in which the program ended.
///
/// The program has the same terminal, descriptors, environment and process group as this process, and gets most
/// signals that are sent to this process.
enum SupervisedCommand {
  /// Signals that are not passed on: faults, which are this process's own; SIGPIPE, which this process causes itself;
  /// and signals of job control, which a terminal or shell sends to both processes.
  private static let untouched =
    SignalTable.numbers(.fault) + SignalTable.numbers(.jobControl) + [SIGPIPE]

  /// Runs the program to its end.
  ///
  /// - Parameter count: the number of this process's last arguments that are the command. The arguments are passed on
  ///   as bytes, whether they are UTF-8 or not.
  /// - Throws: `ToolError` with status 126 or 127 if the program could not be started.
  static func run(lastArguments count: Int) throws(ToolError) -> CommandEnd {
    var signals = sigset_t()
    unsafe sigfillset(&signals)
    for signal in untouched { unsafe sigdelset(&signals, signal) }
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, &signals, &before)
    defer {
      // Signals that arrived before the command's end were for the command.
      var none = timespec()
      while unsafe sigtimedwait(&signals, nil, &none) > 0 {}
      unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    }
    // This process may have been started with SIGCHLD ignored, and the kernel then does not report the end of a
    // child.
    Glibc.signal(SIGCHLD, SIG_DFL)
    let child = try start(lastArguments: count, mask: before)
    return wait(for: child, &signals)
  }

  private static func start(
    lastArguments count: Int, mask: sigset_t
  ) throws(ToolError) -> pid_t {
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var mask = mask
    unsafe posix_spawnattr_setsigmask(&attributes, &mask)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let command = unsafe CommandLine.unsafeArgv + Int(CommandLine.argc) - count
    var child = pid_t()
    let failure = unsafe posix_spawnp(&child, command[0]!, nil, &attributes, command, environ)
    guard failure == 0 else {
      // env(1) and the shells use the same exit statuses for these failures.
      throw ToolError(
        path: unsafe String(cString: command[0]!), ToolError.text(failure),
        exitStatus: failure == ENOENT ? 127 : 126)
    }
    return child
  }

  /// Passes signals on until the program has ended, and waits for every child.
  ///
  /// The other children are orphans, which this process gets if it is the first process of a PID namespace.
  private static func wait(for child: pid_t, _ signals: inout sigset_t) -> CommandEnd {
    while true {
      var information = unsafe siginfo_t()
      let signal = unsafe sigwaitinfo(&signals, &information)
      guard signal > 0 else { continue }
      guard signal == SIGCHLD else {
        if isForCommand(signal, code: unsafe information.si_code) {
          unsafe ForwardedSignal.send(signal, information, to: child)
        }
        continue
      }
      var end: CommandEnd?
      var status: Int32 = 0
      // User and start time are read before waitpid(2), because afterward /proc no longer shows the process.
      let user = userOfEnded(child)
      let startTime = startTime(of: child)
      while true {
        let ended = unsafe waitpid(-1, &status, WNOHANG)
        guard ended > 0 else { break }
        guard ended == child else { continue }
        end = CommandEnd(
          processID: child, startTime: startTime, status: WaitStatus(status: status), user: user)
      }
      if let end { return end }
    }
  }

  /// The start time of a child in clock ticks after boot; nil if /proc does not show it.
  private static func startTime(of child: pid_t) -> UInt64? {
    guard case .found(let process) = ProcessProbe.look(at: UInt32(bitPattern: child)) else {
      return nil
    }
    return process.startTime
  }

  /// The user that the command ran as when it ended; nil if it is still running, or if /proc does not show the user.
  ///
  /// Source: proc_pid_status(5), `Uid`, which a zombie still has.
  private static func userOfEnded(_ child: pid_t) -> UInt32? {
    var information = unsafe siginfo_t()
    let options = WEXITED | WNOWAIT | WNOHANG
    guard unsafe waitid(P_PID, id_t(child), &information, options) == 0,
      unsafe information.si_signo == SIGCHLD,
      let text = try? String(contentsOfFile: "/proc/\(child)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Uid:") })
    else { return nil }
    let words = line.split(whereSeparator: \.isWhitespace)
    return words.count > 1 ? UInt32(words[1]) : nil
  }

  /// False for a signal that the command has already received.
  ///
  /// A signal from the terminal has a positive code, and reaches the whole foreground process group, including the
  /// program. Only SIGHUP is different: the terminal sends it to the leader of the session alone.
  private static func isForCommand(_ signal: Int32, code: Int32) -> Bool {
    code <= 0 || (signal == SIGHUP && getsid(0) == getpid())
  }
}

/// The end of a command.
struct CommandEnd {
  let processID: pid_t
  /// The start time in clock ticks after boot; nil if it is not known.
  let startTime: UInt64?
  let status: WaitStatus
  /// The user that the command ran as when it ended; nil if it is not known.
  let user: UInt32?

  /// How the command ended, as evidence for a converter about a run without a dump.
  var observed: ObservedEnd? {
    startTime.map {
      ObservedEnd(
        processID: UInt32(bitPattern: processID), startTime: $0, waitStatus: status.status)
    }
  }
}
