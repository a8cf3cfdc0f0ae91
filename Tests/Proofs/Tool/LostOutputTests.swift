import CrashTestSupport
import Foundation
import Testing

/// Output that cannot be written: each command says so, and fails, unless the reader of a pipe has left.
@Suite struct LostOutputTests {
  private let directory: SharedDirectory
  private let tool: String
  private let victim: String

  init() throws {
    directory = try SharedDirectory()
    tool = try BuiltProducts.besideTests("postmortem")
    victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
  }

  /// Crashes a process, and returns the crash's summary.
  @discardableResult
  private func crash(_ database: String) async throws -> String {
    let child = try await ChildProcess.run(
      victim, [directory.path + "/" + database, "abort"], in: directory.path)
    try #require(child.end.signal == SIGABRT)
    return child.standardError
  }

  private func run(_ words: [String], _ redirection: String = "") async throws -> ChildProcess {
    try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" \"$@\" \(redirection)", tool] + words, in: directory.path,
      environment: ["POSTMORTEM_LLDB": "/opt/lldb", "DEBUGINFOD_URLS": ""])
  }

  private static let message = "standard output: No space left on device"

  /// Checks that a command reports once that its output is lost.
  private func expectLoss(_ words: [String]) async throws {
    let full = try await run(words, ">/dev/full")
    let lines = full.standardError.split(separator: "\n").map(String.init)
    let line =
      words.contains("--json")
      ? #"{"error":"\#(Self.message)","exitStatus":1}"# : "postmortem: \(Self.message)"
    #expect(full.end.exitCode == 1 && lines.count { $0 == line } == 1, "\(words): \(full)")
  }

  @Test func everyCommandReportsAFullDisk() async throws {
    let log = try await crash("db")
    try directory.put(Array(log.utf8), "log")
    for name in ["db", "left1"] { try await crash(name) }
    // A dump can be converted only once.
    for name in ["left2", "left3", "left4"] {
      _ = try await ChildProcess.run("/bin/cp", ["-a", "left1", name], in: directory.path)
    }
    #expect(try await run(["process", "./db"]).end.exitCode == 0)
    let id = String(try await run(["list", "./db", "-q"]).standardOutput.prefix(36))
    _ = try await ChildProcess.run("/bin/cp", ["-a", "db", "deleted"], in: directory.path)
    let live = try RunningVictim(victim, [directory.path + "/live", "wait-and-abort"])
    let pid = "\(live.processID)"
    try live.waitForLine("started \(pid)")
    let pending = "left4/pending-serialized-dumps/"
    let dump = try #require(directory.names(pending).first { $0.hasPrefix("HandlerOnlyVictim@") })
    let commands: [String: [String]] = [
      "list": ["./db", "./db --json", "./db -q", "./db --group", "./db --group --json"],
      "show": ["./db", "./db --full", "./db --json", "./db --html"],
      "debug": ["./db --print", "./db --json"],
      "stats": ["./db", "./db --json"],
      "process": ["./left1", "./db --json"],
      "watch": ["./left2", "./left3 --json"],
      // Prints only on standard error.
      "run": [],
      "capture": [pid, pid + " --json"],
      "delete": ["./db --dry-run \(id)", "./deleted \(id) --json"],
      "prune": ["./db --age 0 --dry-run", "./db --json"],
      "upload": [
        "./db --url http://h/ --dry-run", "./db --url http://h/ --dry-run --json",
        "./db --enable --json", "./db \(id) --url http://127.0.0.1:1/ --json",
      ],
      "dashboard": ["./db"],
      "export": ["./db", "./db --json", "./db --format otlp"],
      "symbols": ["-o symbols \(victim)"],
      "symbolicate": ["log", "log --json"],
      "inspect": [pending + dump, pending + dump + " --json"],
      "doctor": [pid, pid + " --json", "", "--json", "-d ./db", "-d ./db --json"],
      "demo": ["", "--json"],
      "completion": ["bash", "zsh", "fish"],
      "manual": ["", "show"],
    ]
    // Each line that completes a command's name has a tab after the name.
    let completions = try await run(["__complete", ""]).standardOutput.split(separator: "\n")
    let names = completions.compactMap { $0.firstIndex(of: "\t").map($0.prefix(upTo:)) }
    #expect(Set(commands.keys) == Set(names.map(String.init)).subtracting(["help"]))
    let others = [
      "help", "--help", "help show", "show --help", "--version", "version", "__complete l",
    ]
    for line in others + commands.flatMap({ name, ends in ends.map { name + " " + $0 } }).sorted() {
      try await expectLoss(line.split(separator: " ").map(String.init))
    }
    // The work itself is done.
    for name in ["left1", "left2", "left3"] {
      #expect(try await run(["list", "./\(name)", "-q"]).standardOutput.count == 37)
    }
    let ended = try await run(["run", "--", "true"], ">/dev/full")
    #expect(ended.end.exitCode == 0)
  }

  /// What a file system says only at the end is in the proof `kills`.
  @Test func aClosedOutputIsLostToo() async throws {
    try await crash("db")
    let pending = "db/pending-serialized-dumps"
    let before = directory.names(pending).map { directory.bytes(pending + "/" + $0) }
    for words in [["show", "./db"], ["list", "./db"], ["inspect", "db/x", "--help"]] {
      let closed = try await run(words, ">&-")
      #expect(closed.end.exitCode == 1, "\(words)")
      #expect(
        closed.standardError.hasSuffix("postmortem: standard output: Bad file descriptor\n"),
        "\(closed)")
    }
    // No file got the number of the closed descriptor.
    #expect(directory.names(pending).map { directory.bytes(pending + "/" + $0) } == before)
    #expect(try await run(["show", "-"], "<&-").standardError.contains("Bad file descriptor"))
  }

  /// Runs a command that ignores SIGPIPE, with a pipe as its output.
  private func run(
    _ words: [String], toPipe descriptor: Int32, ignoring: String = "trap '' PIPE; "
  ) throws -> pid_t {
    try Spawn.start(
      "/bin/sh", ["sh", "-c", ignoring + "exec \"$0\" \"$@\"", tool] + words,
      environment: ["SWIFT_BACKTRACE": "enable=no"], output: .descriptor(descriptor),
      errors: .file(directory.path + "/errors"))
  }

  private func end(of child: pid_t) -> ChildEnd {
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
    return ChildEnd(status: status)
  }

  @Test func aReaderThatHasLeftIsNoFailure() async throws {
    try await crash("db")
    #expect(try await run(["process", "./db"]).end.exitCode == 0)
    let database = directory.path + "/db/"
    for words in [
      ["show", database], ["show", database, "--json"], ["show", database, "--html"],
      ["list", database], ["list", database, "--json"], ["stats", database],
      ["export", database], ["dashboard", database], ["process", database, "--json"],
      ["completion", "zsh"], ["manual"], ["help"], ["--version"],
      ["show", database, "-o", "/dev/stdout"],
    ] {
      var ends: [Int32] = [-1, -1]
      try #require(unsafe pipe(&ends) == 0)
      close(ends[0])
      let child = try run(words, toPipe: ends[1])
      let other = try run(words, toPipe: ends[1], ignoring: "")
      close(ends[1])
      #expect(end(of: child).exitCode == 0, "\(words)")
      #expect(directory.bytes("errors") == [], "\(words)")
      // Without a parent that ignores the signal.
      #expect(end(of: other).signal == SIGPIPE, "\(words)")
    }
  }

  /// The pipe has no room for the whole text, and writing does not wait for room, as if another program had turned
  /// waiting off.
  @Test func aPipeThatDoesNotBlockGetsEverything() async throws {
    try await crash("db")
    #expect(try await run(["process", "./db"]).end.exitCode == 0)
    let page = try await run(["show", "./db", "--html"]).standardOutput
    var ends: [Int32] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    defer { close(ends[0]) }
    let setSize: Int32 = 1031
    try #require(fcntl(ends[1], setSize, 4096) == 4096 && page.utf8.count > 3 * 4096)
    try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
    let child = try run(["show", directory.path + "/db/", "--html"], toPipe: ends[1])
    // The pipe is full before the first byte is read.
    var status = pollfd(fd: ends[1], events: Int16(POLLOUT), revents: 0)
    while unsafe poll(&status, 1, 0) == 1 { usleep(1000) }
    close(ends[1])
    var bytes: [UInt8] = []
    while true {
      var piece = [UInt8](repeating: 0, count: 1000)
      let count = unsafe read(ends[0], &piece, piece.count)
      guard count > 0 else { break }
      bytes += piece.prefix(count)
    }
    #expect(end(of: child).exitCode == 0)
    #expect(String(decoding: bytes, as: UTF8.self) == page)
  }
}
