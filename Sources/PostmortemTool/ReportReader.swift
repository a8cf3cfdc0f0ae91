internal import Foundation
@unsafe @preconcurrency internal import Glibc

/// Reads reports in a process of its own, one after the other, so that one that ends its reader is
/// one that could not be read.
///
/// A reader never traps, whatever the bytes. But names in a report are read by demanglers and
/// modules by the system, a report can need more memory than there is, and one of a hundred must not
/// hide the others. The process is made when the first report is read, again after one has ended it,
/// and ends with this object.
final class ReportReader {
  private let arguments: [String]
  private var child: Child?

  /// CPU time for one report, in seconds.
  private static let patience = 120

  /// - Parameter symbolFolders: as for `show`.
  init(symbolFolders: [String]) {
    arguments = [Worker.name] + symbolFolders.flatMap { ["--symbols", $0] }
  }

  /// What a report is put into a group by.
  func facts(of path: String) throws(ToolError) -> ReportFacts {
    let child: Child
    if let known = self.child { child = known } else { child = try Child(arguments) }
    self.child = child
    // As a C string: a path holds no NUL.
    if child.send(path), let line = child.line(),
      let answer = try? JSONDecoder().decode(ReportAnswer.self, from: Data(line))
    {
      guard let facts = answer.facts else { throw ToolError(answer.failure ?? "no answer") }
      return facts
    }
    self.child = nil
    throw ToolError(path: path, "reading it ended a process (\(child.end()))")
  }

  /// The process, and a socket that is its standard input and output.
  private final class Child {
    private let processID: pid_t
    private let socket: Int32
    private var received: [UInt8] = []
    private var status: Int32?

    init(_ arguments: [String]) throws(ToolError) {
      var ends: [Int32] = [-1, -1]
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
        throw ToolError(unsafe String(cString: strerror(errno)))
      }
      defer { close(ends[1]) }
      var actions = unsafe posix_spawn_file_actions_t()
      unsafe posix_spawn_file_actions_init(&actions)
      defer { unsafe posix_spawn_file_actions_destroy(&actions) }
      unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
      unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
      // What the runtime says of a trap says nothing to a user.
      unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
      let path = OwnProgram.path
      let words = unsafe Self.strings([path] + arguments)
      let variables = unsafe Self.strings(OwnProgram.quietEnvironment.map { "\($0)=\($1)" })
      defer { unsafe (words + variables).forEach { unsafe free($0) } }
      var processID = pid_t()
      let failure = unsafe posix_spawn(&processID, path, &actions, nil, words, variables)
      guard failure == 0 else {
        close(ends[0])
        throw ToolError(
          "cannot start a process to read reports: \(unsafe String(cString: strerror(failure)))")
      }
      self.processID = processID
      socket = ends[0]
    }

    /// As the C library takes them; the caller frees them.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
      unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    deinit {
      // It ends with its input.
      close(socket)
      wait()
    }

    func send(_ text: String) -> Bool {
      var bytes = (Array(text.utf8) + [0])[...]
      while !bytes.isEmpty {
        let count = unsafe bytes.withUnsafeBytes {
          unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        bytes = bytes.dropFirst(count)
      }
      return true
    }

    /// One line; nil if the process ended before it was whole.
    func line() -> [UInt8]? {
      while true {
        if let end = received.firstIndex(of: 0x0A) {
          defer { received.removeSubrange(...end) }
          return Array(received[..<end])
        }
        var piece = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(socket, &piece, piece.count, 0)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return nil }
        received += piece.prefix(count)
      }
    }

    /// Waits for the end, and says how it was.
    func end() -> String {
      shutdown(socket, Int32(SHUT_RDWR))
      wait()
      let status = status ?? 0
      let signal = status & 0x7F
      guard signal != 0 else { return "it exited with status \(status >> 8 & 0xFF)" }
      if signal == SIGPROF { return "it took more than \(ReportReader.patience) s of CPU time" }
      return "signal \(signal), \(unsafe String(cString: strsignal(signal)))"
    }

    private func wait() {
      guard status == nil else { return }
      var status: Int32 = 0
      while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
      self.status = status
    }
  }

  /// The process's part: `postmortem read-reports`, which is for this class only.
  enum Worker {
    static let name = "read-reports"

    static func run(_ words: [String]) throws {
      let arguments = try Arguments(
        words, options: ["--symbols"], operands: 0...0, help: ListCommand.help)
      // A core file of it would tell of this program, not of the report.
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
      let reading = ReportFacts.Reading(symbolFolders: arguments.values(of: "--symbols"))
      while let path = nextPath() {
        var limit = itimerval()
        limit.it_value.tv_sec = ReportReader.patience
        unsafe setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &limit, nil)
        Terminal.print(try JSON.line(of: reading.answer(for: path)))
      }
    }

    private static func nextPath() -> String? {
      var bytes: [UInt8] = []
      while true {
        var byte: UInt8 = 0
        let count = unsafe read(0, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return nil }
        if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes.append(byte)
      }
    }
  }
}
