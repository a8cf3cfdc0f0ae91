internal import Foundation

/// A running server from Examples; deinit kills it.
public final class RunningServer {
  private let processID: pid_t
  private let errors: FileHandle
  public let port: UInt16
  private let firstOutput: String
  private var end: ChildEnd?

  /// Starts a server, and waits until it listens.
  ///
  /// - Throws: `NotListening` with the server's output if it ended instead.
  public init(_ executable: String, _ arguments: [String]) throws {
    let pipe = Pipe()
    processID = try Spawn.start(
      executable, [executable] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(
        ["SWIFT_BACKTRACE": "enable=no"]
      ) { $1 },
      output: .null, errors: .descriptor(pipe.fileHandleForWriting.fileDescriptor))
    try pipe.fileHandleForWriting.close()
    errors = pipe.fileHandleForReading
    var text = ""
    var port: UInt16?
    while port == nil, let byte = try errors.read(upToCount: 1)?.first {
      text.unicodeScalars.append(Unicode.Scalar(byte))
      guard byte == 0x0A else { continue }
      port = text.firstMatch(of: /listening on 127\.0\.0\.1:([0-9]+)/).flatMap { UInt16($0.1) }
    }
    guard let port else {
      Self.kill(processID)
      throw NotListening(output: text)
    }
    self.port = port
    firstOutput = text
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
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR
    {}
    watchdog.cancel()
    let end = Self.collect(processID)
    self.end = end
    return end
  }

  /// Reads the output from the start on; call this once, after the server's end.
  public func output() throws -> String {
    firstOutput + String(decoding: try errors.readToEnd() ?? Data(), as: UTF8.self)
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
