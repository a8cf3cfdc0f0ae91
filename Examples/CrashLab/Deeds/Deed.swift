internal import Glibc
internal import PostmortemHandler

/// What a program does after it has started its handler, whether it converts its dumps itself or not.
public enum Deed: String, CaseIterable, Sendable {
  /// Exits normally.
  case exit
  case abort
  /// Kills itself, which looks like a kill by another process.
  case killed
  /// A child crashes; the parent exits normally.
  case childCrashes = "child-crashes"
  /// A child crashes, then the parent.
  case bothCrash = "both-crash"
  /// Executes this program again with exec(3), and that run crashes.
  case restart
  /// Gives no heartbeats for longer than the hang monitor's threshold, then kills itself.
  case hang
  /// Does the same, but crashes at the end.
  case hangAndAbort = "hang-and-abort"
  /// Crashes on another thread, while the program processes the dumps of earlier runs.
  case crashWhileProcessing = "crash-while-processing"
  /// Waits for the end of its input, then crashes.
  case waitAndAbort = "wait-and-abort"
  /// Does the same after closing all descriptors except the standard ones, as daemons do.
  case closeAllAndWait = "close-all-and-wait"
  /// Forks two workers and waits for ever; each worker waits for the end of its input, then crashes.
  case prefork

  /// Performs the deed; each process that crashes prints `crashing PID` first.
  ///
  /// - Parameters:
  ///   - lockedFile: the handler's file. If another file replaces it, the process exits with 99.
  ///   - restart: the command line of a run of this program that aborts, for `restart`.
  public func perform(lockedFile: String, restart: [String]) -> Never {
    if self == .closeAllAndWait { closeAll() }
    let before = identity(of: lockedFile)
    guard before != 0 else { _exit(98) }
    say("started \(getpid())")
    // Long enough for other processes to examine the file.
    if [.waitAndAbort, .closeAllAndWait, .prefork].contains(self) {
      prepareWaiting()
    } else {
      usleep(20_000)
    }
    guard identity(of: lockedFile) == before else { _exit(99) }
    switch self {
    case .exit: Glibc.exit(0)
    case .abort, .waitAndAbort, .closeAllAndWait: Self.crash()
    case .killed: killItself()
    case .crashWhileProcessing:
      while true { pause() }
    case .hang:
      stopAnswering()
      killItself()
    case .hangAndAbort:
      stopAnswering()
      Self.crash()
    case .childCrashes:
      forkAndWait { Self.crash() }
      Glibc.exit(0)
    case .bothCrash:
      forkAndWait { Self.crash() }
      Self.crash()
    case .restart: startAgain(restart)
    case .prefork: _exit(97)
    }
  }

  private func prepareWaiting() {
    guard self == .prefork else {
      waitForEndOfInput()
      return
    }
    for _ in 0..<2 {
      if fork() == 0 {
        say("worker \(getpid())")
        waitForEndOfInput()
        Self.crash()
      }
    }
    say("forked")
    while true { pause() }
  }

  /// Aborts; prints `crashing PID` first.
  public static func crash() -> Never {
    say("crashing \(getpid())")
    Glibc.abort()
  }
}

/// Closes the descriptors 3 to 1023, because Swift does not import close_range(2).
private func closeAll() {
  for descriptor in 3..<Int32(1024) { close(descriptor) }
}

private func killItself() -> Never {
  kill(getpid(), SIGKILL)
  _exit(97)
}

/// Prints `hanging PID`, and hangs.
///
/// Whether the hang monitor writes its dump in time depends on the machine's load.
private func stopAnswering() {
  say("hanging \(getpid())")
  let options = HangMonitor.Options(threshold: .milliseconds(100))
  guard let monitor = try? HangMonitor.heartbeat(name: "deed", options: options) else { _exit(95) }
  monitor.heartbeat()
  usleep(400_000)
  withExtendedLifetime(monitor) {}
}

private func waitForEndOfInput() {
  var byte: UInt8 = 0
  while unsafe read(0, &byte, 1) > 0 {}
}

private func startAgain(_ arguments: [String]) -> Never {
  var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
  unsafe execv("/proc/self/exe", &words)
  _exit(96)
}

private func forkAndWait(_ body: () -> Never) {
  let child = fork()
  if child == 0 { body() }
  var status: Int32 = 0
  while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
}

/// fork(2), which Swift does not import.
private func fork() -> Int32 {
  typealias Fork = @convention(c) () -> Int32
  return unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
}

/// The file's inode number; 0 if the file does not exist.
private func identity(of path: String) -> UInt64 {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
}

/// Writes one line with one write(2), because several processes share the output.
private func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = unsafe write(1, bytes, bytes.count)
}
