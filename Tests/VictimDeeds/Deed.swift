internal import Glibc
internal import HangDetection

/// What a victim of the tests does once its handler is in.
public enum Deed: String, CaseIterable {
  /// A clean end.
  case exit
  case abort
  /// By itself, as if from outside.
  case killed
  /// A child crashes; the parent ends well.
  case childCrashes
  /// A child crashes, then the parent.
  case bothCrash
  /// Starts itself again by exec, and that run crashes.
  case restart
  /// Stops answering for longer than its hang monitor stands, then is killed as if from outside.
  case hang
  /// The same, but crashes.
  case hangAndAbort
  /// Crashes on another thread, while the program processes what earlier runs left.
  case crashWhileProcessing
  /// Waits for the end of its input, then crashes.
  case waitAndAbort
  /// The same, once it has closed all descriptors but the standard ones, as daemons do.
  case closeAllAndWait
  /// Forks two workers and waits for ever; each worker waits for the end of its input, then crashes.
  case prefork

  /// Does it; prints `crashing PID` first wherever a process is about to crash.
  ///
  /// - Parameters:
  ///   - lockedFile: the handler's file. If it is not what it was, the process exits with 99.
  ///   - arguments: of this program, with the deed as the last.
  public func perform(lockedFile: String, arguments: [String]) -> Never {
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
    case .abort, .waitAndAbort, .closeAllAndWait: crash()
    case .killed: killItself()
    case .crashWhileProcessing:
      while true { pause() }
    case .hang:
      stopAnswering()
      killItself()
    case .hangAndAbort:
      stopAnswering()
      crash()
    case .childCrashes:
      forkAndWait { crash() }
      Glibc.exit(0)
    case .bothCrash:
      forkAndWait { crash() }
      crash()
    case .restart: startAgain(arguments.dropLast() + [Deed.abort.rawValue])
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
        crash()
      }
    }
    say("forked")
    while true { pause() }
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
  monitor.beat()
  usleep(400_000)
  withExtendedLifetime(monitor) {}
}

private func crash() -> Never {
  say("crashing \(getpid())")
  abort()
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

private func identity(of path: String) -> UInt64 {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
}

/// One line, in one write: several processes share the output.
private func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = unsafe write(1, bytes, bytes.count)
}

/// Crashes on a thread of its own, after a while.
public func startCrash(afterMicroseconds delay: UInt32) {
  var thread = pthread_t()
  let box = unsafe Unmanaged.passRetained(Delay(delay)).toOpaque()
  unsafe pthread_create(
    &thread, nil,
    { argument in
      if let argument = unsafe argument {
        usleep(unsafe Unmanaged<Delay>.fromOpaque(argument).takeRetainedValue().microseconds)
      }
      crash()
    }, box)
}

private final class Delay: Sendable {
  let microseconds: UInt32
  init(_ microseconds: UInt32) { self.microseconds = microseconds }
}
