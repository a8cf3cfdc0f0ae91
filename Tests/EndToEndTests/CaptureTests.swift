import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// `postmortem capture` on a real process, which goes on.
///
/// `swift run proofs live-dumps` has the processes that give no answer.
@Suite("Captured processes")
struct CaptureTests {
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

  @Test("It goes on, and its report is marked as requested", arguments: [false, true])
  func goesOn(stopsThreads: Bool) async throws {
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
      #expect(report.snapshot.client.breadcrumbs.first?.text == "waiting for orders")
      #expect(report.explanation?.hasPrefix("Dump requested from outside") == true)
      #expect(report.signature?.hasPrefix("dump | ") == true, "\(report.signature ?? "")")
      let busy = report.threads.filter { $0.snapshot.state == "R" && !$0.crashed }
      #expect(busy.count == 1)
      // A thread that runs has registers only where it was stopped.
      #expect(busy.allSatisfy { $0.frames.isEmpty != stopsThreads })
    }
    let refused = try await tool(
      "capture", "\(victim.processID)", "--database", directory.path)
    #expect(refused.end.exitCode == 1 && refused.standardError.contains("the database of process"))
  }

  @Test("A crash signal sent while it dumps ends it, with a report", arguments: [false, true])
  func crashesMeanwhile(stopsThreads: Bool) async throws {
    let victim = try victim()
    let pending = database + "/pending-serialized-dumps"
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: pending) }
    let before = try files().count
    let dump = try RunningVictim(
      try BuiltProducts.besideTests("postmortem"),
      ["capture", "\(victim.processID)", stopsThreads ? "--all-threads" : "--timeout=10"])
    // Its first file is made some milliseconds before the dump is done.
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

  @Test("A process without our handler is refused, and lives", arguments: ["default", "exec"])
  func refused(order: String) async throws {
    let victim = try victim()
    try victim.send(order)
    if order == "default" { try victim.waitForLine(order) }
    // cat says the next line, too, unless the other has read it before.
    while order == "exec", try KernelFile.text("/proc/\(victim.processID)/comm") != "cat\n" {
      try await Task.sleep(for: .milliseconds(10))
    }
    try victim.ask("there")
    let run = try await tool("capture", "\(victim.processID)", "--timeout", "1")
    #expect(run.end.exitCode == 1, "\(run)")
    #expect(
      run.standardError.contains(
        order == "exec" ? "no crash handler lives" : "does not catch signal"),
      "\(run)")
    try victim.ask("alive")
  }

  @Test("A run that is killed says when and doing what", arguments: ["obeying", "beating"])
  func killed(scene: String) async throws {
    let victim = try victim(scene)
    try victim.ask("order 66")
    let hasBeats = scene == "beating"
    var doctor = try await tool("doctor", "\(victim.processID)")
    for _ in 0..<100 where hasBeats && !doctor.standardOutput.contains("order 66") {
      doctor = try await tool("doctor", "\(victim.processID)")
    }
    #expect(doctor.end.exitCode == 0, "\(doctor)")
    #expect(doctor.standardOutput.contains("killed now, it would leave "), "\(doctor)")
    #expect(doctor.standardOutput.contains("it has no heartbeats") == !hasBeats, "\(doctor)")
    victim.kill()
    let process = try await tool("process", database)
    // Without the trait Interposition a kill looks like _exit.
    guard !doctor.standardOutput.contains("would leave no report") else { return }
    let report = try newest()
    #expect(report.snapshot.end?.kind == .unexplained, "\(process)")
    #expect((report.snapshot.process.crashTime != nil) == hasBeats)
    #expect(report.snapshot.client.breadcrumbs.last?.text == (hasBeats ? "order 66" : nil))
    #expect(TextReport.text(of: report).contains("order 66") == hasBeats)
  }

  @Test("A reason is headline and signature, in every form")
  func reason() async throws {
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
