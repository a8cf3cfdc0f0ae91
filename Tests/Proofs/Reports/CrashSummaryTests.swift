import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// Compares the summary on standard error with the report, an independent debugger, and the same program without
/// the handler.
@Suite struct CrashSummaryTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    let signal: String
    let function: String
    var message: String?
    var testDescription: String { name }
  }

  static let kinds: [Kind] = [
    Kind(
      name: "null-read", signal: "signal 11 SIGSEGV code 1 SEGV_MAPERR address 0x0",
      function: "crash_null_read"),
    Kind(
      name: "null-call", signal: "signal 11 SIGSEGV code 1 SEGV_MAPERR address 0x0",
      function: "crash_null_call"),
    Kind(name: "abort", signal: "signal 6 SIGABRT code -6 SI_TKILL", function: "crash_abort"),
    Kind(
      name: "double-free", signal: "signal 6 SIGABRT code -6 SI_TKILL",
      function: "crash_double_free",
      message: "abort-message free(): double free detected in tcache 2"),
    Kind(
      name: "fatal-error", signal: "signal 4 SIGILL code 2 ILL_ILLOPN address",
      function: "crash_fatal_error", message: "Fatal error: crash-lab says goodbye"),
    Kind(
      name: "assert", signal: "signal 6 SIGABRT code -6 SI_TKILL", function: "crash_assert",
      message: "Assertion `crashes == 0' failed."),
    Kind(
      name: "stack-overflow", signal: "signal 11 SIGSEGV code 1 SEGV_MAPERR address",
      function: "crash_stack_overflow"),
  ]

  @Test(
    .needs(.lldb),
    arguments: kinds, BuildConfiguration.dynamic)
  func theBlockSaysWhatTheReportSaysAndItsFramesAreTheDebuggers(
    _ kind: Kind, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let handled = try await victim.die(kind.name, on: .main)
    let lines = Self.block(in: handled.standardError, processID: handled.processID)
    #expect(lines.first?.hasPrefix("crash-summary 1 ") == true)
    #expect(lines.suffix(2).first == "end")
    #expect(lines.last?.hasPrefix("to read this report: postmortem show --database /") == true)
    #expect(Self.blockSize(in: handled.standardError) <= 4096)
    #expect(lines.contains { $0.hasPrefix(kind.signal) }, "\(lines)")
    if let message = kind.message { #expect(lines.contains { $0.contains(message) }, "\(lines)") }
    let thread = "thread \(handled.processID) crash-lab"
    #expect(lines.contains(thread))

    // The dump exists at the path in the summary until it is processed.
    let dump = try #require(lines.first { $0.hasPrefix("dump complete - ") })
    let path = String(dump.dropFirst("dump complete - ".count))
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    #expect(lines.contains("report \(report.id)"))

    let snapshot = try Victim.snapshot(of: report)
    let entries = try Self.entries(of: lines) { path in
      try #require(snapshot.modules.first { $0.path == path }).address.value
    }
    let lldb = try await LLDB.view(dump: report.path, directory: try victim.directory("lldb"))
    // LLDB lists inlined calls at the address of the frame that contains them.
    var expected: [UInt64] = []
    for frame in lldb.frames where expected.last != frame.address || kind.name == "stack-overflow" {
      expected.append(frame.address)
    }
    // Each frame of LLDB is among the entries, in order; all entries except candidates are frames.
    try #require(expected.count >= 4)
    var rest = entries[...]
    for frame in expected.prefix(8) {
      let index = rest.firstIndex { $0.address == frame }
      #expect(index != nil, "\(String(frame, radix: 16)): \(lines)\n\(lldb.transcript)")
      rest = rest[((index ?? rest.startIndex) + (index == nil ? 0 : 1))...]
    }
    let chained = entries.filter { !$0.isCandidate }.map(\.address)
    #expect(Set(chained.prefix(8)).isSubset(of: expected), "\(lines)\n\(lldb.transcript)")
    let shown = try await checkSymbolication(of: handled, kind, victim, report.path)
    let decided = shown.listed.filter {
      $0.isDecided && $0.inlined == false && $0.trust != "tail-call"
    }.compactMap { frame -> UInt64? in
      let module = snapshot.modules.first { $0.name == frame.module }
      let offset = frame.moduleOffset.flatMap { UInt64($0.dropFirst(2), radix: 16) }
      return module.flatMap { base in offset.map { base.address.value + $0 } }
    }
    // Entries that are not candidates are right: LLDB finds the same, except for an address without code.
    let known = expected.filter { $0 > 0xFFFF }
    let compared = min(decided.count, known.count)
    // In an unoptimized program, the words near the call of abort do not lead beyond its caller.
    #expect(compared >= (kind.name == "stack-overflow" ? 8 : kind.name == "abort" ? 4 : 7))
    #expect(
      Array(decided.prefix(compared)) == Array(known.prefix(compared)), "\(shown)\(lldb.transcript)"
    )
  }

  /// The part of a report's JSON that a log can contain as well as a dump.
  private struct Shown: Decodable {
    struct Thread: Decodable {
      var frames: [Frame]
      var framesOmitted: Int
      var framesOmittedAfter: Int
    }
    struct Frame: Decodable, Equatable {
      var module: String?
      var moduleOffset: String?
      var function: String?
      var file: String?
      var line: Int?
      var inlined: Bool?
      var trust: String

      /// False for a stack word that may be a leftover of an earlier call.
      var isDecided: Bool { trust != "scan" }
    }
    var message: String?
    var place: String?
    var threads: [Thread]
    var frames: [Frame] { threads.first?.frames ?? [] }
    /// The frames before those that a summary folds.
    var listed: ArraySlice<Frame> {
      threads.first.map {
        $0.framesOmitted > 0 ? $0.frames.prefix($0.framesOmittedAfter) : $0.frames[...]
      }
        ?? []
    }

    init(_ json: String) throws {
      self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
    }
  }

  /// Checks the symbolication of a summary in a container's log, with other lines between, and of the dump.
  private func checkSymbolication(
    of child: ChildProcess, _ kind: Kind, _ victim: Victim, _ report: String
  ) async throws -> Shown {
    let log = try victim.directory("log") + "/log"
    let lines = child.standardError.split(separator: "\n").flatMap {
      ["2026-11-21T14:49:05.1Z web-1  | \($0)", "2026-11-21T14:49:05.1Z db-1   | frame 0 0+0x1 x"]
    }
    try lines.joined(separator: "\r\n").write(toFile: log, atomically: false, encoding: .utf8)
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    func run(_ command: String) async throws -> String {
      let shown = try await ChildProcess.run(
        "/bin/sh", ["-c", command, tool, log, report], in: try victim.directory("symbolicate"))
      #expect(shown.end.exitCode == 0, "\(shown.standardError)")
      return shown.standardOutput
    }
    let text = try await run("exec \"$0\" symbolicate < \"$1\"")
    let frames = text.split(separator: "\n").filter { $0.hasPrefix("  #") }
    #expect(frames.contains { $0.contains(kind.function) }, "\(text)")
    #expect(text.contains("Process \(child.processID) (CrashLab 1.0): SIG"))
    let logged = try Shown(try await run("exec \"$0\" symbolicate --json < \"$1\""))
    let dumped = try Shown(try await run("exec \"$0\" show --json \"$2\""))
    #expect(logged.message == dumped.message)
    #expect(logged.place == dumped.place)
    let count = min(logged.listed.prefix { $0.isDecided }.count, dumped.frames.count)
    #expect(count >= (kind.name == "abort" ? 6 : 7), "\(text)")
    for (ours, theirs) in zip(logged.listed.prefix(count), dumped.frames) {
      var ours = ours
      // The two readers may find the same frame in different ways.
      ours.trust = theirs.trust
      #expect(ours == theirs, "\(text)")
    }
    return logged
  }

  @Test func modulesAreFoundInDirectoriesOfSymbolsAndAnotherBuildIsNotUsed() async throws {
    let victim = try await Victim(.asTested)
    let program = try victim.directory("program") + "/crash-lab"
    // /bin/cp makes the copy: if this process did, a child that is being spawned might hold the new file open for
    // writing, and it could not be executed (ETXTBSY).
    let copy = try await ChildProcess.run(
      "/bin/cp", [victim.executable, program], in: try victim.directory("copy"))
    try #require(copy.end.exitCode == 0, "\(copy.standardError)")
    let child = try await ChildProcess.run(
      program, ["null-read", "--database", victim.database], in: try victim.directory("handled"),
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.standardError.contains("crash-summary"), "\(child.standardError)")
    let log = try victim.directory("log") + "/log"
    try child.standardError.write(toFile: log, atomically: false, encoding: .utf8)
    let symbols = try victim.directory("symbols")
    try FileManager.default.moveItem(atPath: program, toPath: symbols + "/crash-lab")
    let others = try victim.directory("others")
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    try FileManager.default.copyItem(atPath: tool, toPath: others + "/crash-lab")
    func symbolicate(_ directories: [String]) async throws -> ChildProcess {
      try await ChildProcess.run(
        "/bin/sh",
        ["-c", "log=$1 && shift && exec \"$0\" symbolicate \"$@\" < \"$log\"", tool, log]
          + directories.flatMap { ["--symbols", $0] }, in: symbols)
    }
    let without = try await symbolicate([]).standardOutput
    #expect(!without.contains("crash_null_read"))
    #expect(without.contains("crash-lab+0x"))
    #expect(without.contains("No such file"))
    let other = try await symbolicate([others]).standardOutput
    #expect(!other.contains("crash_null_read"))
    #expect(other.contains("\(others)/crash-lab") && other.contains("not the same build"))
    #expect(try await symbolicate([others, symbols]).standardOutput.contains("crash_null_read"))
    #expect(try await symbolicate([others + "/none"]).end.exitCode == 1)
    let nothing = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" symbolicate < /dev/null", tool], in: symbols)
    #expect(nothing.end.exitCode == 1)
    #expect(nothing.standardError.contains("no crash summary"))
  }

  @Test(arguments: ["null-read", "assert", "double-free"])
  func turnedOffNothingIsPrinted(_ kind: String) async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone(kind, on: .main)
    let handled = try await victim.run(
      [kind, "--database", victim.database, "--threads", "3", "--no-summary"], in: "handled")
    #expect(handled.end == alone.end)
    #expect(handled.standardError == alone.standardError)
    #expect(try await victim.process().count == 1)
  }

  @Test func whereSwiftsBacktracerPrintsThereIsOneLineAndTheCommandAndSymbolicateShowsIt()
    async throws
  {
    let victim = try await Victim(.asTested)
    let handled = try await victim.die("null-read", on: .main, backtracer: true)
    #expect(handled.standardError.contains(" crashed:"))
    let lines = Self.block(in: handled.standardError, processID: handled.processID)
    #expect(lines.count == 2)
    #expect(lines[1].hasPrefix("to read this report: postmortem show --database /"))
    let log = try victim.directory("log") + "/log"
    try handled.standardError.write(toFile: log, atomically: false, encoding: .utf8)
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let shown = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" symbolicate < \"$1\"", tool, log],
      in: try victim.directory("symbolicate"))
    #expect(shown.end.exitCode == 0, "\(shown.standardError)")
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    #expect(
      shown.standardOutput.hasPrefix("Process \(handled.processID): Report \(report.id): in /"))
  }

  /// The caller must not learn there where the program's memory and its files are.
  @Test(.enabled("needs root") { geteuid() == 0 })
  func aProgramWithMoreRightsThanItsCallerPrintsNothing() async throws {
    let victim = try await Victim(.asTested)
    let directory = try victim.directory("program")
    let script = """
      cp "$0" "$1/crash-lab" && chmod 4755 "$1/crash-lab" && chmod 711 "$1" "${1%/*}" &&
      exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1/crash-lab" null-read --database "$2"
      """
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", script, victim.executable, directory, victim.database],
      in: try victim.directory("handled"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == SIGSEGV)
    #expect(!child.standardError.contains("postmortem["), "\(child.standardError)")
    #expect(try await victim.process().count == 1)
  }

  /// A standard error that cannot be written.
  struct BadEnd: Sendable, CustomTestStringConvertible {
    let name: String
    /// Shell commands before `exec "$@"`; the working directory is the directory of the run.
    let setUp: String
    var kinds = ["null-read", "abort"]
    var testDescription: String { name }

    static let all: [BadEnd] = [
      // Swift prints its message to descriptor 2: it must not get into a file of ours that has this number.
      BadEnd(name: "closed", setUp: "exec 2>&-", kinds: ["null-read", "fatal-error"]),
      BadEnd(
        name: "a full pipe that nobody reads",
        setUp: """
          mkfifo pipe && exec 3<>pipe
          dd if=/dev/zero of=pipe bs=4096 oflag=nonblock 2>/dev/null
          exec 2>pipe
          """),
      BadEnd(
        name: "a pipe whose reader is gone",
        setUp: "mkfifo pipe && exec 3<>pipe && exec 2>pipe 3<&-"),
      BadEnd(name: "a full device", setUp: "exec 2>/dev/full"),
      BadEnd(name: "open for reading", setUp: "exec 2</dev/null"),
      BadEnd(
        name: "beyond the file size limit",
        setUp: "printf '%s' $(seq 1 400) > file && exec 2>>file && ulimit -S -f 1"),
    ]
  }

  @Test(arguments: BadEnd.all)
  func whateverStandardErrorIsTheEndIsTheSame(_ bad: BadEnd) async throws {
    for kind in bad.kinds {
      let victim = try await Victim(.asTested)
      func die(_ arguments: [String], in name: String) async throws -> ChildProcess {
        try await ChildProcess.run(
          "/bin/sh", ["-c", bad.setUp + "\nexec \"$0\" \"$@\"", victim.executable] + arguments,
          in: try victim.directory(name), environment: ["SWIFT_BACKTRACE": "enable=no"])
      }
      let alone = try await die([kind, "--no-handler"], in: "alone")
      let handled = try await die([kind, "--database", victim.database], in: "handled")
      #expect(alone.end.signal != nil)
      #expect(handled.end == alone.end, "\(kind)")
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
    }
  }

  @Test(.enabled("needs root") { geteuid() == 0 })
  func aDiskThatIsFullLeavesATornDumpAndSaysSo() async throws {
    let victim = try await Victim(.asTested)
    let directory = try victim.directory("disk")
    let child = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c",
        "mount -t tmpfs -o size=32k none \"$1\" && exec \"$0\" null-read --database \"$1/db\"",
        victim.executable, directory,
      ], in: directory, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == 11)
    let lines = Self.block(in: child.standardError, processID: child.processID)
    #expect(lines.contains { $0.hasPrefix("dump torn ENOSPC \(directory)/db/") }, "\(lines)")
    #expect(lines.filter { $0.hasPrefix("frame ") }.count >= 4)
  }

  @Test func theSampleInThePaperIsWhatIsPrinted() async throws {
    let paper = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Internals/CrashSummary.md", encoding: .utf8
    )
    let block = try #require(paper.components(separatedBy: "```").dropFirst().first)
    let sample = Self.block(in: block, processID: 4711)
    #expect(sample.count > 12)
    let victim = try await Victim(.asTested)
    let child = try await victim.run(
      ["assert", "--database", victim.database], in: "handled")
    let printed = Self.block(in: child.standardError, processID: child.processID)
    // Stack words that point into code differ from build to build, and so do the modules that only such words
    // name.
    func shapes(_ lines: [String]) -> [String] {
      let certain = lines.filter { !$0.contains("?0x") && !$0.contains("~0x") }
      let modules = Set(
        certain.compactMap { $0.firstMatch(of: #/^frame [0-9]+ ([0-9]+)/#)?.output.1 })
      return certain.filter { line in
        line.firstMatch(of: #/^module ([0-9]+) /#).map { modules.contains($0.output.1) } ?? true
      }.map(Self.shape)
    }
    #expect(sample.contains { $0.contains("?0x") } && printed.contains { $0.contains("?0x") })
    #expect(shapes(sample) == shapes(printed))
    for lines in [sample, printed] {
      #expect(lines.contains { $0.hasPrefix("module ") && $0.hasSuffix("/crash-lab") })
    }
  }

  // MARK: - Reading a block

  /// The text after the mark, line by line.
  static func block(in text: String, processID: Int32) -> [String] {
    let mark = "postmortem[\(processID)]: "
    return text.split(separator: "\n").filter { $0.hasPrefix(mark) }
      .map { String($0.dropFirst(mark.count)) }
  }

  private static func blockSize(in text: String) -> Int {
    text.split(separator: "\n").filter { $0.hasPrefix("postmortem[") }
      .reduce(0) { $0 + $1.utf8.count + 1 }
  }

  static func entries(
    of lines: [String], base: (String) throws -> UInt64
  ) throws -> [(address: UInt64, isCandidate: Bool)] {
    var bases: [Substring: UInt64] = [:]
    var entries: [(UInt64, Bool)] = []
    for line in lines {
      if let match = line.wholeMatch(of: /module ([0-9]+) (?:[0-9a-f]+|-) (.*)/) {
        bases[match.1] = try base(String(match.2))
      } else if let match = line.wholeMatch(of: /frame [0-9]+ ([0-9]+|-)([+~?])0x([0-9a-f]+).*/) {
        let start = match.1 == "-" ? 0 : try #require(bases[match.1])
        entries.append((start + (try #require(UInt64(match.3, radix: 16))), match.2 != "+"))
      }
    }
    return entries
  }

  /// A line without the parts that differ from run to run.
  private static func shape(_ line: String) -> String {
    line.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/, with: "UUID")
      .replacing(/\b[0-9a-f]{40}\b/, with: "BUILD")
      .replacing(/0x[0-9a-f]+/, with: "0xN")
      .replacing(/(^| )\/[^ ]+/, with: " PATH")
      .replacing(/^thread [0-9]+/, with: "thread N")
      .replacing(#/ [0-9a-f]{8};/#, with: " ID;")
  }
}
