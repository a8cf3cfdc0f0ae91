internal import Foundation
internal import Glibc

/// A process of a program that was built with the tests; it may wait for the end of its input.
///
/// Foundation's `Process` is not used: its only thread for all children may wait for a child that has closed its
/// descriptors, and does not notice other ends in the meantime.
package final class Racer {
  private let child: pid_t
  private var status: Int32?
  private let input = Pipe()
  private let output = Pipe()

  /// Starts a converter that waits for `letGo`.
  package convenience init(
    database: String, identifier: String = "app", through: [String] = []
  ) throws {
    try self.init(
      "crash-lab", ["process", "--wait", "--database", database, "--identifier", identifier],
      through: through)
    if through.isEmpty { try waitForProgram() }
  }

  /// Starts a program that converts the pending dumps, and then runs a deed.
  package convenience init(
    processingItself deed: String, database: String, inNamespace: Bool = false
  ) throws {
    try self.init(
      "crash-lab", ["process-itself", deed, "--database", database],
      through: inNamespace ? Self.namespace : [])
  }

  /// The command that makes a program the first process of a new PID namespace; needs root.
  package static let namespace = [
    "/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
  ]

  /// - Parameter through: a command that runs the program, such as env(1).
  package init(_ program: String, _ arguments: [String], through: [String] = []) throws {
    let words = through + [try BuiltProducts.besideTests(program)] + arguments
    child = try Spawn.start(
      words[0], words,
      environment: ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) {
        _, new in new
      },
      input: .descriptor(input.fileHandleForReading.fileDescriptor),
      output: .descriptor(output.fileHandleForWriting.fileDescriptor), errors: .inherited)
    try input.fileHandleForReading.close()
    try output.fileHandleForWriting.close()
  }

  /// Waits until the program's own code runs, or has ended.
  ///
  /// posix_spawn(3) returns earlier, while the kernel still changes the stack's start.
  private func waitForProgram() throws {
    while true {
      let maps = try String(contentsOfFile: "/proc/\(child)/maps", encoding: .utf8)
      if maps.isEmpty || maps.contains("/libc.so.") { return }
      usleep(1000)
    }
  }

  package var processID: UInt32 { UInt32(child) }

  package func letGo() throws {
    try input.fileHandleForWriting.close()
  }

  /// Kills the process, unless its end has been waited for.
  package func kill() {
    if status == nil { _ = Glibc.kill(child, SIGKILL) }
  }

  /// The signal that ended it; nil if it exited.
  package var endSignal: Int32? { end.signal }

  /// The exit code, or the signal.
  package var endStatus: Int32 { end.signal ?? end.exitCode ?? 0 }

  /// Sends a signal, and returns the signal that ended it; SIGKILL if it did not end within `ChildProcess.patience`
  /// seconds.
  package func end(by signal: Int32) throws -> Int32? {
    _ = Glibc.kill(child, signal)
    var information = unsafe siginfo_t()
    for _ in 0..<ChildProcess.patience * 100 {
      guard unsafe waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT | WNOHANG) == 0 else {
        throw SystemCallError("waitid", errno)
      }
      if unsafe information.si_signo == SIGCHLD { return endSignal }
      usleep(10_000)
    }
    kill()
    return endSignal
  }

  /// Waits for its end without collecting it.
  package func waitForZombie() {
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) == -1 && errno == EINTR
    {}
  }

  private var end: ChildEnd {
    if let status { return ChildEnd(status: status) }
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
    self.status = status
    return ChildEnd(status: status)
  }

  /// Waits for one line, and returns it.
  package func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Waits for a line that starts with a text; earlier lines are lost.
  package func line(with start: String) throws -> String {
    while true {
      let line = try firstLine()
      if line.hasPrefix(start) || line.isEmpty { return line }
    }
  }

  /// Waits for the process's end, and returns the lines that it printed.
  package func lines() throws -> [String] {
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    _ = end
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
