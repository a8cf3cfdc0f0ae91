internal import Glibc
internal import PostmortemHandler

/// A program's deed once its handler is in, whether it converts its dumps itself or not.
public enum Deed: String, CaseIterable, Sendable {
  /// A clean end.
  case exit
  case abort
  /// Kills itself, which looks like a kill by another process.
  case killed
  /// A child crashes; the parent exits normally.
  case childCrashes = "child-crashes"
  /// A child crashes, then the parent.
  case bothCrash = "both-crash"
  /// Starts itself again by exec, and that run crashes.
  case restart
  /// Stops answering for longer than its hang monitor stands, then is killed as if from outside.
  case hang
  /// The same, but crashes.
  case hangAndAbort = "hang-and-abort"
  /// Crashes on another thread, while the program processes what earlier runs left.
  case crashWhileProcessing = "crash-while-processing"
  /// Waits for the end of its input, then crashes.
  case waitAndAbort = "wait-and-abort"
  /// The same, once it has closed all descriptors but the standard ones, as daemons do.
  case closeAllAndWait = "close-all-and-wait"
  /// Forks two workers and waits for ever; each worker waits for the end of its input, then crashes.
  case prefork

  /// Does it; prints `crashing PID` first wherever a process is about to crash.
  ///
  /// - Parameters:
  ///   - lockedFile: the handler's file. If it is not what it was, the process exits with 99.
  ///   - restart: the command line of a run of this program that aborts, for `restart`.
  public func perform(lockedFile: String, restart: [String]) -> Never {
    if self == .closeAllAndWait { closeAll() }
    let before = identity(of: lockedFile)
    guard before != 0 else { _exit(98) }
    say("started \(getpid())")
    // Long enough for others to look at the file.
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

/// As close_range(3, ~0), which Swift does not import.
private func closeAll() {
  for descriptor in 3..<Int32(1024) { close(descriptor) }
}

private func killItself() -> Never {
  kill(getpid(), SIGKILL)
  _exit(97)
}

/// Prints `hanging PID`, and whether that is dumped in time is for the machine's load to say.
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

/// The file's inode; 0 for none.
private func identity(of path: String) -> UInt64 {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
}

/// One line, in one write: several processes share the output.
private func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = unsafe write(1, bytes, bytes.count)
}
