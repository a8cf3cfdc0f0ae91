internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A process with a handler that does not crash, and that prints facts about itself for a test.
struct Probe: Subcommand {
  private enum Kind: String, CaseIterable {
    case idle
    case startAgain = "start-again"
    case status
    /// The status while threads start, and after one has blocked SIGBUS.
    case statusOfMany = "status-of-many"
    /// The status before and after the process loses access to /proc.
    case statusClosed = "status-closed"
    case forked
  }

  private let kind: Kind
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.words()
    kind = try Arguments.choice(arguments.name)
    database = try arguments.database
  }

  func run() throws {
    var options = HandlerOptions()
    // With the default, SIGBUS would stay unblocked, and the status would report nothing.
    if kind == .statusOfMany { options.keepsCrashSignalsOpen = false }
    let handler = CrashLab.start(database, options)
    switch kind {
    case .idle: try printWhatRuns()
    case .startAgain: try startTwiceMore(database)
    case .status: printStatus(of: handler)
    case .statusOfMany: printStatusOfMany(handler)
    case .statusClosed:
      print(handler.status)
      condition_close_proc()
      print(handler.status)
    case .forked:
      print(crashlab_fork_idle())
      waitForReader()
    }
  }

  /// Prints the numbers of threads, interval timers, POSIX timers and children, one `name count` per line.
  private func printWhatRuns() throws {
    print("threads \(try Self.entries(of: "/proc/self/task").count)")
    var armed = 0
    for timer in [ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF] {
      var value = itimerval()
      unsafe getitimer(__itimer_which_t(timer.rawValue), &value)
      if value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0 { armed += 1 }
    }
    print("interval-timers \(armed)")
    print("posix-timers \(try Self.armedTimers())")
    var status: Int32 = 0
    let child = unsafe waitpid(-1, &status, WNOHANG)
    print("children \(child == -1 && errno == ECHILD ? 0 : 1)")
  }

  /// The number of armed POSIX timers; a timer that was created for a later crash, but is not armed, does not count.
  private static func armedTimers() throws -> Int {
    let identifiers = try lines(of: "/proc/self/timers").compactMap { line in
      line.hasPrefix("ID: ") ? UInt(line.dropFirst(4)) : nil
    }
    return identifiers.filter { identifier in
      var time = itimerspec()
      // glibc's timer_t is the kernel's number for a timer without a thread of its own.
      let result = unsafe timer_gettime(UnsafeMutableRawPointer(bitPattern: identifier), &time)
      return result == 0 && (time.it_value.tv_sec != 0 || time.it_value.tv_nsec != 0)
    }.count
  }

  private func startTwiceMore(_ database: String) throws {
    try startHandler(database: database)
    print("same directory: accepted")
    do {
      try startHandler(database: database + "-other")
      print("other directory: accepted")
    } catch {
      print("other directory: \(error)")
    }
  }

  /// Prints the status before and after this process replaces handlers and blocks signals; each time, waits for a
  /// line or the end of standard input.
  private func printStatus(of handler: Handler) {
    print(handler.status)
    waitForReader()
    signal(SIGSEGV, SIG_DFL)
    signal(SIGBUS, SIG_IGN)
    crashlab_take_signal(SIGFPE)
    for signal in (35..<64 as Range<Int32>) where crashlab_is_caught(signal) {
      crashlab_take_signal(signal)
    }
    crashlab_block_by_kernel(SIGILL)
    crashlab_handle_blocking(SIGUSR1, SIGTRAP)
    print(handler.status)
    waitForReader()
  }

  private func printStatusOfMany(_ handler: Handler) {
    condition_thread_churn()
    var findings: [HandlerStatus.Finding] = []
    for _ in 0..<300 { findings += handler.status.findings }
    print("accused \(findings.count)")
    Thread.start {
      var faults = sigset_t()
      unsafe sigemptyset(&faults)
      unsafe sigaddset(&faults, SIGBUS)
      unsafe pthread_sigmask(SIG_BLOCK, &faults, nil)
      print(handler.status)
      fflush(nil)
      exit(0)
    }.join()
  }

  private func waitForReader() {
    print("ready")
    fflush(nil)
    _ = readLine()
  }

  private static func entries(of path: String) throws -> [String] {
    guard let directory = unsafe opendir(path) else { throw ProbeError(path: path, errno: errno) }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func lines(of path: String) throws -> [String] {
    guard let file = unsafe fopen(path, "r") else { throw ProbeError(path: path, errno: errno) }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    while true {
      let character = unsafe fgetc(file)
      if character == EOF { break }
      bytes.append(UInt8(truncatingIfNeeded: character))
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

private struct ProbeError: Error {
  let path: String
  let errno: Int32
}
