import CrashAnalysis
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// `postmortem capture` for a real process, which continues afterward.
@Suite struct CaptureCommandTests {
  private let directory = try! SharedDirectory()
  private var database: String { directory.path + "/db" }

  private func victim(_ scene: String = "obeying") throws -> RunningVictim {
    let victim = try RunningVictim(
      try BuiltProducts.besideTests("crash-lab"), ["live-dump", scene, "--database", database])
    try victim.waitForLine("ready")
    return victim
  }

  private func tool(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
  }

  private func newest() throws -> CrashReport {
    let reports = try CrashReportDatabase(path: database).reports().filter { $0.state != .new }
    let snapshots = try reports.map {
      try MinidumpReader.snapshot(of: [UInt8](Data(contentsOf: URL(fileURLWithPath: $0.path))))
    }
    let last = try #require(
      snapshots.max { ($0.process.crashTime ?? 0) < ($1.process.crashTime ?? 0) })
    return CrashReport(snapshot: last, symbolicating: false)
  }

  @Test(arguments: [false, true])
  func itGoesOnAndItsReportIsMarkedAsRequested(stopsThreads: Bool) async throws {
    let victim = try victim()
    for _ in 0..<2 {
      let run = try await tool(
        "capture", "\(victim.processID)", stopsThreads ? "--all-threads" : "--timeout=20")
      #expect(run.end.exitCode == 0, "\(run)")
      #expect(run.standardOutput.contains("postmortem show \(database) "), "\(run)")
      try victim.ask("still here")
      let report = try newest()
      #expect(report.snapshot.request?.kind == .tool)
      #expect(report.snapshot.exception?.signal == nil && report.cause == nil)
      #expect(report.snapshot.capture.isComplete)
      #expect(report.snapshot.exception?.threadID == UInt32(victim.processID))
      let breadcrumb = try #require(report.snapshot.client.breadcrumbs.first)
      #expect(breadcrumb.text == "waiting for orders" && breadcrumb.level == .notice)
      #expect(breadcrumb.metadata.pairs == [.init(name: "from", value: "standard input")])
      let line = "[notice] waiting for orders from=standard input"
      #expect(TextReport.text(of: report).contains(line))
      #expect(report.explanation?.hasPrefix("Snapshot taken by postmortem capture") == true)
      #expect(report.signature?.hasPrefix("dump | ") == true, "\(report.signature ?? "")")
      let busy = report.threads.filter { $0.snapshot.state == "R" && !$0.crashed }
      #expect(busy.count == 1)
      // Running threads are stopped, because any of them may hold what others wait for.
      #expect(busy.allSatisfy { !$0.frames.isEmpty })
    }
    let refused = try await tool(
      "capture", "\(victim.processID)", "--database", directory.path)
    #expect(refused.end.exitCode == 1 && refused.standardError.contains("the database of process"))
  }

  /// The signal handler cannot search the memory for tasks: the tool does it.
  @Test(
    .enabled(
      if: Yama.allowsReading || OutsideTool.mustBeThere,
      "Yama keeps the memory of other processes from this user"))
  func itsTasksAreFoundFromOutsideAndACycleOfThemIsThePlace() async throws {
    let victim = try RunningVictim(
      try BuiltProducts.besideTests("crash-lab"),
      ["tasks", "cycle", "2", "waits", "--database", database])
    try victim.waitForLine("blocked")
    let run = try await tool("capture", "\(victim.processID)")
    #expect(run.end.exitCode == 0, "\(run)")
    let tasks = try #require(try newest().snapshot.allTasks)
    #expect(tasks.count == 2 && tasks.bytesSeen > 0 && tasks.cycles.map(\.count) == [2])
    #expect(tasks.groups.allSatisfy { $0.state == .awaitsTask })
    let text = try await tool("show", database).standardOutput
    #expect(text.contains("\nAll tasks (2):\n"), "\(text)")
    let lines = text.split(separator: "\n")
    #expect(lines.dropFirst().first?.contains("waitForNext") == true, "\(lines.prefix(3))")
    #expect(text.contains("\nCause      deadlock, certain\n"), "\(text)")
    let page = try await tool("show", "--html", database).standardOutput
    #expect(page.contains("<title>") && page.contains("waitForNext"))
    let line = try await tool("export", database).standardOutput
    // On a busy machine, the conversion has no time to find the names for a place.
    #expect(line.contains(#""cause":"deadlock","#) && line.contains(#""tasks":2,"#), "\(line)")
  }

  @Test(arguments: [false, true])
  func aCrashSignalSentWhileItDumpsEndsItWithAReport(stopsThreads: Bool) async throws {
    let victim = try victim()
    let pending = database + "/pending-serialized-dumps"
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: pending) }
    let before = try files().count
    let dump = try RunningVictim(
      try BuiltProducts.besideTests("postmortem"),
      ["capture", "\(victim.processID)", stopsThreads ? "--all-threads" : "--timeout=10"])
    // The handler creates its first file some milliseconds before the dump is complete.
    for _ in 0..<100_000 { if try files().count != before { break } }
    victim.signal(SIGSEGV)
    #expect(victim.waitForEnd() == SIGSEGV)
    #expect(dump.waitForEnd() == 0)
    _ = try await tool("process", database)
    let reports = try CrashReportDatabase(path: database).reports().filter { $0.state != .new }
    let exceptions = try reports.map {
      try MinidumpReader.snapshot(of: [UInt8](Data(contentsOf: URL(fileURLWithPath: $0.path))))
    }.compactMap(\.exception).filter { $0.signal == SIGSEGV }
    #expect(exceptions.count == 1)
    #expect(exceptions.first?.sender?.processID == getpid())
  }

  @Test(arguments: ["default", "exec"])
  func aProcessWithoutOurHandlerIsRefusedAndLives(order: String) async throws {
    let victim = try victim()
    try victim.send(order)
    if order == "default" { try victim.waitForLine(order) }
    // The program becomes `cat`, which also prints the next line, unless the old program has read it before.
    while order == "exec", try KernelFile.text("/proc/\(victim.processID)/comm") != "cat\n" {
      try await Task.sleep(for: .milliseconds(10))
    }
    try victim.ask("there")
    let run = try await tool("capture", "\(victim.processID)", "--timeout", "1")
    #expect(run.end.exitCode == 1, "\(run)")
    #expect(
      run.standardError.contains(
        order == "exec" ? "has no crash handler" : "no longer catches signal"),
      "\(run)")
    try victim.ask("alive")
  }

  /// The kernel delivers a signal for the process to a thread that waits for it, and shows the signal as not blocked in
  /// this thread.
  @Test func aThreadThatWaitsForSignalsDoesNotGetTheRequest() async throws {
    let waiting = try victim("waiting")
    let refused = try await tool("capture", "\(waiting.processID)", "--timeout", "1")
    #expect(refused.end.exitCode == 1, "\(refused)")
    #expect(refused.standardError.contains("no signal was sent"), "\(refused)")
    try waiting.send("still here")
    var other: String?
    try waiting.waitForLine { line in
      if line != "still here" { other = line }
      return true
    }
    #expect(other == nil)
    let beside = try victim("waiting-beside")
    let taken = try await tool("capture", "\(beside.processID)")
    #expect(taken.end.exitCode == 0, "\(taken)")
    #expect(try newest().snapshot.exception?.threadID != UInt32(beside.processID))
  }

  @Test func aProcessWhoseFirstThreadHasEndedHasAHandlerAsEver() async throws {
    let victim = try RunningVictim(
      try BuiltProducts.besideTests("crash-lab"), ["end", "main-thread", "--database", database])
    try victim.waitForLine("main thread ended")
    let doctor = try await tool("doctor", "\(victim.processID)")
    #expect(doctor.end.exitCode == 0, "\(doctor)")
    #expect(doctor.standardOutput.contains("the crash handler is in place"), "\(doctor)")
    let left = try await tool("process", database)
    #expect(left.end.exitCode == 0, "\(left)")
    let run = try await tool("capture", "\(victim.processID)")
    #expect(run.end.exitCode == 0, "\(run)")
    let snapshot = try newest().snapshot
    #expect(snapshot.request?.kind == .tool && !snapshot.modules.isEmpty)
  }

  /// A process that was restored from a checkpoint has another start time, and a boot ID can be mounted over.
  @Test(arguments: ["start", "boot"])
  func forDoctorProcessAndCaptureOneWitnessOfLifeIsEnough(what: String) async throws {
    let victim = try victim()
    let stat = try KernelFile.text("/proc/\(victim.processID)/stat")
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    let startTime = try #require(fields.count > 19 ? UInt64(fields[19]) : nil)
    let boot = try KernelFile.text("/proc/sys/kernel/random/boot_id")
    let pattern =
      what == "boot"
      ? Data(boot.utf8.prefix(36))
      : Data((0..<8).map { UInt8(truncatingIfNeeded: startTime >> (8 * $0)) })
    let name = try #require(
      directory.names("db/pending-serialized-dumps").first { $0.hasSuffix(".run") })
    let path = "\(database)/pending-serialized-dumps/\(name)"
    let place = try #require(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: pattern))
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(place.lowerBound))
    try file.write(contentsOf: Data([pattern[0] ^ 1]))
    try file.close()
    let locked = "\(database)/pending-serialized-dumps/\(name.dropLast(4)).locked"
    try Data("not empty".utf8).write(to: URL(fileURLWithPath: locked))

    let process = try await tool("process", database, "--json")
    #expect(process.end.exitCode == 2, "\(process)")
    #expect(process.standardOutput.contains("a process holds the FIFO of process"), "\(process)")
    let doctor = try await tool("doctor", "\(victim.processID)")
    #expect(doctor.end.exitCode == 0, "\(doctor)")
    let capture = try await tool("capture", "\(victim.processID)")
    #expect(capture.end.exitCode == 0, "\(capture)")
    victim.kill()
    let id = try #require(PendingDumpName(fileName: name)?.reportID)
    #expect(try await tool("process", database).standardOutput.contains(id.description.prefix(8)))
  }

  /// A process that has changed its user cannot rename or remove the files that it created earlier.
  @Test func aDumpThatIsSaidNotToBeTakenLeavesNoReportOneThatIsTakenDoes() async throws {
    for (scene, isTaken) in [("names-refused", true), ("cut-names-refused", false)] {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("crash-lab"), ["live-dump", scene, "--database", database],
        in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
      let line = child.standardOutput.split(separator: "\n").first ?? ""
      #expect(child.end.exitCode == 0 && line.hasPrefix("failed: ") != isTaken, "\(child)")
      let process = try await tool("process", database)
      let reports = try CrashReportDatabase(path: database).reports()
      #expect(reports.map { "\($0.id)" } == (isTaken ? [String(line)] : []), "\(process)")
      #expect(directory.names("db/pending-serialized-dumps") == [])
      try FileManager.default.removeItem(atPath: database)
    }
  }

  @Test(arguments: ["obeying", "beating"])
  func aRunThatIsKilledSaysWhenAndDoingWhat(scene: String) async throws {
    let victim = try victim(scene)
    try victim.ask("order 66")
    let hasBeats = scene == "beating"
    var doctor = try await tool("doctor", "\(victim.processID)")
    for _ in 0..<100 where hasBeats && !doctor.standardOutput.contains("order 66") {
      doctor = try await tool("doctor", "\(victim.processID)")
    }
    #expect(doctor.end.exitCode == 0, "\(doctor)")
    #expect(doctor.standardOutput.contains("a SIGKILL now would leave "), "\(doctor)")
    #expect(doctor.standardOutput.contains("it has no heartbeats") == !hasBeats, "\(doctor)")
    victim.kill()
    let process = try await tool("process", database)
    // Without the trait Interposition, a kill cannot be distinguished from `_exit`.
    guard !doctor.standardOutput.contains("would leave no report") else { return }
    let report = try newest()
    #expect(report.snapshot.end?.kind == .unexplained, "\(process)")
    #expect((report.snapshot.process.crashTime != nil) == hasBeats)
    #expect(report.snapshot.client.breadcrumbs.last?.text == (hasBeats ? "order 66" : nil))
    let line = "[warning] order 66 kind=unknown"
    #expect(TextReport.text(of: report).contains(line) == hasBeats)
  }

  @Test func aReasonIsHeadlineAndSignatureInEveryForm() async throws {
    let victim = try victim()
    try victim.ask("dump")
    let process = try await tool("process", database)
    #expect(process.standardOutput.contains(": order waited too long"), "\(process)")
    let list = try await tool("list", database)
    #expect(list.standardOutput.contains("  order waited too long"), "\(list)")
    let report = try newest()
    #expect(report.message == "order waited too long")
    #expect(report.signature == "dump | order waited too long")
    #expect(report.snapshot.request?.errorType == "OrderError")
    #expect(report.snapshot.annotations["order"] == "4711")
    let text = TextReport.text(of: report)
    let page = HTMLReport.text(of: report)
    let json = try await tool("show", "--json", database)
    for form in [text, page, json.standardOutput] {
      #expect(form.contains("order waited too long"), "\(form)")
      #expect(form.contains("late(seconds: 9)"), "\(form)")
      #expect(form.contains("4711"))
    }
  }
}

/// The kernel's rule on which processes may read the memory of others.
private enum Yama {
  /// True unless the kernel refuses to show a process's memory to other processes of its user.
  static var allowsReading: Bool {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)
    return text?.hasPrefix("0") ?? true
  }
}
