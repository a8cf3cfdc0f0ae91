import Foundation

/// A child that runs until the test ends it; deinit kills it.
public final class RunningVictim: @unchecked Sendable {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  public init(_ executable: String, _ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    process.environment = ["SWIFT_BACKTRACE": "enable=no"]
    // The child inherits this thread's mask. Threads of libdispatch block nearly every signal, including SIGCHLD,
    // without which gdb waits forever.
    var (none, mask) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &mask)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &mask, nil) }
    try process.run()
  }

  deinit { kill() }

  public func signal(_ number: Int32) { Glibc.kill(process.processIdentifier, number) }

  public func kill() { process.killAndWait() }

  /// Waits for a line that equals a text.
  public func waitForLine(_ text: String) throws {
    guard try hasLine(where: { $0 == text }) else { throw MissingLine(text: text) }
  }

  /// Waits for a line that fulfills a condition.
  public func waitForLine(where isMeant: (String) -> Bool) throws {
    guard try hasLine(where: isMeant) else { throw MissingLine(text: "a line of this kind") }
  }

  private func hasLine(where isMeant: (String) -> Bool) throws -> Bool {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first {
      if byte != 0x0A {
        line.append(byte)
        continue
      }
      if isMeant(String(decoding: line, as: UTF8.self)) { return true }
      line = []
    }
    return false
  }

  public var processID: Int32 { process.processIdentifier }

  /// Sends a line.
  public func send(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Sends a line, and waits until the child prints it.
  public func ask(_ line: String) throws {
    try send(line)
    try waitForLine(line)
  }

  /// Sends an empty line, and waits for the end.
  public func finish() throws -> Int32 {
    try send("")
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Waits for the end, and returns the exit status or signal; kills a child that does not end within two
  /// minutes.
  public func waitForEnd() -> Int32 {
    for _ in 0..<12_000 where process.isRunning { usleep(10_000) }
    kill()
    process.waitUntilExit()
    return process.terminationStatus
  }

  public struct MissingLine: Error { public let text: String }
}
