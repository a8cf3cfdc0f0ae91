internal import Foundation

/// A running server from Examples; deinit kills it.
public final class RunningServer {
  private let processID: pid_t
  private let directory: SharedDirectory
  public let port: UInt16
  private var end: ChildEnd?

  /// A file and not a pipe, because nobody reads the output while the server runs.
  private var errors: String { directory.path + "/errors" }

  /// Starts a server, and waits until it listens.
  ///
  /// - Throws: `NotListening` with the server's output if it ended instead.
  public init(_ executable: String, _ arguments: [String]) throws {
    directory = try SharedDirectory()
    let errors = directory.path + "/errors"
    processID = try Spawn.start(
      executable, [executable] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(
        ["SWIFT_BACKTRACE": "enable=no"]
      ) { $1 },
      output: .null, errors: .file(errors))
    while true {
      // The end is looked for first, because an ended server writes nothing more.
      let hasEnded = Self.hasEnded(processID, orWait: false)
      let text = try Self.text(of: errors)
      if let match = text.firstMatch(of: /listening on 127\.0\.0\.1:([0-9]+).*\n/) {
        port = UInt16(match.1) ?? 0
        return
      }
      guard !hasEnded else {
        Self.kill(processID)
        throw NotListening(output: text)
      }
      usleep(5000)
    }
  }

  deinit {
    if end == nil { Self.kill(processID) }
  }

  public func signal(_ number: Int32) { Glibc.kill(processID, number) }

  /// Waits for the end; a server that hangs is killed, and its end is SIGKILL.
  public func waitForEnd() -> ChildEnd {
    if let end { return end }
    let watchdog = DispatchWorkItem { [processID] in _ = Glibc.kill(processID, SIGKILL) }
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .seconds(ChildProcess.patience), execute: watchdog)
    // The child has not been waited for, so no other process can have its process ID while it may be killed.
    _ = Self.hasEnded(processID, orWait: true)
    watchdog.cancel()
    let end = Self.collect(processID)
    self.end = end
    return end
  }

  /// Reads what the server has written to standard error.
  public func output() throws -> String { try Self.text(of: errors) }

  private static func text(of path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  /// True if a child has ended; its status stays there to be collected.
  private static func hasEnded(_ processID: pid_t, orWait waits: Bool) -> Bool {
    let options = WEXITED | WNOWAIT | (waits ? 0 : WNOHANG)
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(processID), &information, options) < 0, errno == EINTR {}
    return unsafe information.si_signo != 0
  }

  private static func kill(_ processID: pid_t) {
    Glibc.kill(processID, SIGKILL)
    _ = collect(processID)
  }

  private static func collect(_ processID: pid_t) -> ChildEnd {
    var status: Int32 = 0
    while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
    return ChildEnd(status: status)
  }

  public struct NotListening: Error { public let output: String }
}
