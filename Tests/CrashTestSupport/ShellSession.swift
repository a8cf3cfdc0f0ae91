public import Foundation

/// An interactive bash on a terminal of its own; deinit ends it and all of its jobs.
///
/// The shell's prompt contains the status of the last command, so that a test knows when a command has ended.
public final class ShellSession: @unchecked Sendable {
  private let terminal: Int32
  private let shell: pid_t
  private var unread: [UInt8] = []

  /// Starts a shell in a directory, and waits for its prompt.
  ///
  /// - Parameter environment: all variables of the shell except `PS1`.
  public init(
    in directory: String, environment: [String: String], rows: UInt16 = 24, columns: UInt16 = 80
  ) async throws {
    guard let bash = OutsideTool.bash.path else { throw OutsideToolError("no bash in PATH") }
    terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { throw SystemCallError("open /dev/ptmx", errno) }
    var (unlocked, number): (Int32, Int32) = (0, -1)
    guard unsafe ioctl(terminal, Self.unlock, &unlocked) == 0,
      unsafe ioctl(terminal, Self.getNumber, &number) == 0
    else {
      let failure = errno
      close(terminal)
      throw SystemCallError("ioctl", failure)
    }
    do {
      // In bash, `set +m` would be the default without a terminal; -i turns job control on.
      shell = try Spawn.start(
        bash, ["bash", "--norc", "--noprofile", "--noediting", "-i"],
        environment: environment.merging(["PS1": Self.prompt, "HISTFILE": ""]) { $1 },
        input: .terminal("/dev/pts/\(number)"), output: .terminal("/dev/pts/\(number)"),
        errors: .terminal("/dev/pts/\(number)"), leadsSession: true)
    } catch {
      close(terminal)
      throw error
    }
    resize(rows: rows, columns: columns)
    _ = try await waitForPrompt(status: 0)
    type("cd '\(directory)'\r")
    _ = try await waitForPrompt(status: 0)
  }

  deinit {
    // The kernel sends SIGHUP to the shell, which passes it on to its jobs, and to the job in the foreground.
    close(terminal)
    kill(shell, SIGKILL)
    var status: Int32 = 0
    while unsafe waitpid(shell, &status, 0) < 0, errno == EINTR {}
  }

  /// TIOCSPTLCK and TIOCGPTN, which Swift does not import.
  ///
  /// Source: Linux, include/uapi/asm-generic/ioctls.h.
  private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

  /// The typed text does not contain the prompt, whose status the shell fills in.
  private static let prompt = "[status $?] "

  /// The process in the terminal's foreground group that leads the group.
  public var foreground: pid_t { tcgetpgrp(terminal) }

  /// Types text; "\r" is the return key, and "\u{3}" is Ctrl-C.
  public func type(_ text: String) {
    let bytes = Array(text.utf8)
    let count = unsafe write(terminal, bytes, bytes.count)
    precondition(count == bytes.count, "a terminal takes a line")
  }

  /// Waits until the job in the foreground waits for a key.
  ///
  /// A signal that less gets after it has drawn a page, and before it waits, takes effect at the next key.
  ///
  /// - Throws: `MissingText` if the job works for too long.
  public func waitForSleep() async throws {
    try await wait("a job that waits for a key") { ProcessGroup(leader: self.foreground).sleeps }
  }

  /// Types Ctrl-Z, and waits for the shell's prompt and until each process of the job is stopped.
  ///
  /// The shell prompts as soon as the command is stopped, while its pager may still read keys and restore the terminal.
  public func stopJob() async throws -> String {
    let job = ProcessGroup(leader: foreground)
    type("\u{1A}")
    let printed = try await waitForPrompt(status: 148)
    try await wait("a job that is stopped") { job.isStopped }
    return printed
  }

  private func wait(_ awaited: String, until condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(ChildProcess.patience)
    while !condition() {
      guard ContinuousClock.now < deadline else { throw MissingText(text: awaited, printed: "") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Changes the size of the terminal, as a user changes that of a window.
  public func resize(rows: UInt16, columns: UInt16) {
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = unsafe ioctl(terminal, UInt(TIOCSWINSZ), &size)
  }

  /// Runs a command line and returns its output, without the typed line and the prompt.
  public func run(_ line: String, status: Int32 = 0) async throws -> String {
    type(line + "\r")
    _ = try await wait(for: "\r\n")
    return try await waitForPrompt(status: status)
  }

  /// Waits for the prompt after a command with this status, and returns what was printed before it.
  public func waitForPrompt(status: Int32) async throws -> String {
    let printed = try await wait(for: "[status \(status)] ")
    try await waitForSleep()
    return printed
  }

  /// Waits for a text, and returns what was printed before it and after what was waited for before.
  ///
  /// - Throws: `MissingText` with everything that was printed if the text does not come in time.
  public func wait(for text: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { try self.read(until: Array(text.utf8)) })
      }
    }
  }

  public struct MissingText: Error, CustomStringConvertible {
    public let text: String
    public let printed: String
    public var description: String { "'\(text)' was not printed, but: \(printed.debugDescription)" }
  }

  private func read(until text: [UInt8]) throws -> String {
    let deadline = ContinuousClock.now + .seconds(ChildProcess.patience)
    while true {
      if let range = unread.firstRange(of: text) {
        defer { unread.removeSubrange(..<range.upperBound) }
        return String(decoding: unread[..<range.lowerBound], as: UTF8.self)
      }
      var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      var bytes = [UInt8](repeating: 0, count: 4096)
      guard ContinuousClock.now < deadline, unsafe poll(&ready, 1, 1000) >= 0 || errno == EINTR
      else {
        throw MissingText(
          text: String(decoding: text, as: UTF8.self),
          printed: String(decoding: unread, as: UTF8.self))
      }
      guard ready.revents != 0 else { continue }
      let count = unsafe Foundation.read(terminal, &bytes, bytes.count)
      // The kernel reports EIO when the last process on the terminal has closed it.
      guard count > 0 else {
        throw MissingText(
          text: String(decoding: text, as: UTF8.self),
          printed: String(decoding: unread, as: UTF8.self))
      }
      unread += bytes.prefix(count)
    }
  }
}
