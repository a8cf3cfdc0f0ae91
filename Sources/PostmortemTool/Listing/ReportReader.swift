internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import FoundationEssentials
@unsafe @preconcurrency internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// Reads reports one after the other in a separate process, so that a report that crashes its reader does not affect
/// the others.
///
/// The package's own readers must not trap, whatever the bytes are. But other code is involved, too: a demangler reads
/// names from the report, and the system opens the files of the report's modules. A report can also need more memory
/// than the machine has. The separate process is started for the first report, and again if it ended while it read a
/// report. The process ends when this object is released.
final class ReportReader {
  private let arguments: [String]
  private var child: Child?

  /// The limit on CPU time for one report, in seconds.
  private static let timeLimitSeconds = 120

  /// - Parameter symbolDirectories: the directories that `--symbols` names.
  init(symbolDirectories: [String]) {
    arguments = [Worker.name] + symbolDirectories.flatMap { ["--symbols", $0] }
  }

  func facts(of path: String) throws(ToolError) -> ReportFacts {
    let child: Child
    if let known = self.child { child = known } else { child = try Child(arguments) }
    self.child = child
    if child.send(path), let line = child.line(),
      let answer = try? JSONDecoder().decode(Answer.self, from: Data(line))
    {
      guard let facts = answer.facts else { throw ToolError(answer.failure ?? "no answer") }
      return facts
    }
    self.child = nil
    throw ToolError(path: path, "the process that read it ended (\(child.end()))")
  }

  /// The facts of a report, or the reason why there are none.
  private struct Answer: Codable {
    var facts: ReportFacts?
    var failure: String?
  }

  /// The separate process, and a socket that is its standard input and output.
  private final class Child {
    private var process: SpawnedProcess?
    private let socket: Int32
    private var received: [UInt8] = []

    init(_ arguments: [String]) throws(ToolError) {
      var ends: [Int32] = [-1, -1]
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
        throw ToolError(ToolError.text(errno))
      }
      defer { close(ends[1]) }
      do throws(ToolError) {
        // The Swift runtime's message about a trap is discarded, because it does not help a user.
        process = try SpawnedProcess(
          OwnProgram.words + arguments, setting: OwnProgram.quietVariables,
          input: .descriptor(ends[1]), output: .descriptor(ends[1]), errors: .null)
      } catch {
        close(ends[0])
        throw ToolError("cannot start a process to read reports: \(error.description)")
      }
      socket = ends[0]
    }

    deinit { close(socket) }

    /// Sends a path, with a NUL to mark its end, because no path contains a NUL.
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

    /// Reads one line; nil if the process ended, or reading failed, before the line was complete.
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

    /// Waits for the end of the process, and describes how it ended.
    func end() -> String {
      shutdown(socket, Int32(SHUT_RDWR))
      guard let end = process.take()?.wait() else { return "unknown" }
      guard let signal = end.signal else {
        return "it exited with status \(end.exitStatus ?? 0)"
      }
      if signal == SIGPROF {
        return "it took more than \(ReportReader.timeLimitSeconds) s of CPU time"
      }
      return "signal \(signal), \(unsafe String(cString: strsignal(signal)))"
    }
  }

  /// The separate process itself: `postmortem read-reports`, which only this class calls.
  enum Worker {
    static let name = "read-reports"

    static func run(_ words: [String]) throws {
      let arguments = try Arguments(
        words, options: ["--symbols"], operands: 0...0, help: ListCommand.help)
      // Core files are turned off, because a core file would describe this program and not the report.
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
      // One symbol source is used for all reports, so that each module's file is read only once.
      let symbols = SymbolSource(directories: arguments.values(of: "--symbols"))
      while let path = nextPath() {
        var limit = itimerval()
        limit.it_value.tv_sec = ReportReader.timeLimitSeconds
        unsafe setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &limit, nil)
        try StandardOutput.print(JSON.line(of: answer(for: path, symbols)))
      }
    }

    private static func answer(for path: String, _ symbols: SymbolSource) -> Answer {
      do throws(ToolError) {
        let file = try CrashFile(at: path)
        let verdict = Verdict(of: file.snapshot, symbols: symbols)
        try file.checkReads()
        return Answer(facts: ReportFacts(of: file.snapshot, verdict, isNamed: true))
      } catch {
        return Answer(failure: error.description)
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

/// How to start this program again: its first arguments, and a variable for its environment.
enum OwnProgram {
  /// The path of this program's file; if the file no longer exists there, the link in `/proc`.
  ///
  /// The path of the file is preferred, because it gives the new process the name of this program; the link would give
  /// it the name `exe`.
  static var path: String {
    let link = "/proc/thread-self/exe"
    guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
      InputFile.exists(path)
    else { return link }
    return path
  }

  /// The variable that turns Swift's backtracer off.
  static let quietVariables = ["SWIFT_BACKTRACE": "enable=no"]

  /// The path of this program, and the arguments before its own.
  ///
  /// The kernel may have been asked to run the dynamic linker with this program as an argument; then the path is the
  /// dynamic linker's, and the program is among the arguments.
  static var words: [String] {
    let text = SystemFile.text("/proc/thread-self/cmdline") ?? ""
    let words = text.split(separator: "\0", omittingEmptySubsequences: false).dropLast()
    // The arguments of this program begin with its name.
    return [path] + words.dropLast(CommandLine.arguments.count - 1).dropFirst().map(String.init)
  }
}
