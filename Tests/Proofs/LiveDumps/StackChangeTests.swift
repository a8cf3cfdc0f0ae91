import CrashConverter
import CrashReport
import CrashTestSupport
import Foundation
import Glibc
import PendingDumps
import ProcessSnapshot
import Testing

/// Signals at the moments at which the handler stands between two stacks, or between two states.
///
/// gdb stops there, and sends them.
@Suite(.serialized, .needs(.gdb)) struct StackChangeTests {
  private static let signals = ["SIGSEGV", "SIGILL", "watchdog"]

  /// Stops of the process, each at an instruction.
  enum Place: String {
    /// As `dumpBegins`, of a crash.
    case crashBegins
    /// The dump is done, and the end by the crash's own signal is under way.
    case crashEnds
    /// The alternate stack was left, and there is no other place for signals yet.
    case dumpBegins
    /// The dump's thread is not known as one any more, and owns the handler still.
    case dumpIsOver

    var commands: [String] {
      switch self {
      case .crashBegins: ["break pm_capture_crash", "run"]
      case .crashEnds:
        ["rbreak ^.s12CrashHandler7CaptureV17restoreAndReraise33_.*8isForced", "run"]
      case .dumpBegins: ["break pm_capture_dump", "run"]
      case .dumpIsOver: ["rbreak ^.s12CrashHandler7CaptureV13closeDumpFileyyF$", "run"]
      }
    }
  }

  private func debugger(
    of victim: LiveVictim, _ commands: [String], _ signal: String, _ arguments: [String]
  ) throws -> RunningVictim {
    // Where the program has no real-time signals of its own.
    let signal = signal == "watchdog" ? "SIG62" : signal
    let commands =
      ["handle all nostop pass noprint"] + commands + [
        "delete", "queue-signal \(signal)", "continue",
      ]
    return try RunningVictim(
      try #require(OutsideTool.gdb.path),
      ["-batch", "-nx"] + commands.flatMap { ["-ex", $0] } + ["--args", victim.executable]
        + arguments + ["--database", victim.database])
  }

  @Test(arguments: signals, [Place.crashBegins, .crashEnds])
  func aCrashIsCapturedAsItWas(signal: String, place: Place) async throws {
    let victim = try await LiveVictim()
    let debugger = try debugger(of: victim, place.commands, signal, ["abort"])
    try debugger.waitForLine { $0.contains("Breakpoint 1, ") }
    try debugger.waitForLine { $0.contains("terminated with signal SIGABRT") }
    _ = debugger.waitForEnd()
    _ = try await victim.process()
    let report = try victim.onlyReport()
    #expect(report.snapshot.exception?.signal == SIGABRT)
    let thread = try #require(report.threads.first { $0.crashed })
    #expect(thread.frames.first?.function?.contains("pthread_kill") == true, "\(thread.frames)")
  }

  /// The handler that was there before ours recovers from the crash.
  @Test func aSignalSentWithinACrashThatIsSurvivedEndsTheProcess() async throws {
    let victim = try await LiveVictim()
    let debugger = try debugger(
      of: victim, ["break pm_write_dump", "run"], "SIGILL", ["chain", "longjmp"])
    try debugger.waitForLine { $0.contains("Breakpoint 1, ") }
    try debugger.waitForLine { $0.contains("terminated with signal SIGILL") }
    _ = debugger.waitForEnd()
    _ = try await victim.process()
    let reports = try victim.reports().map { try victim.snapshot(of: $0) }
    #expect(Set(reports.map { $0.exception?.signal }) == [SIGSEGV, SIGILL])
  }

  @Test(
    arguments: signals,
    [Place.dumpBegins, .dumpIsOver])
  func aRequestedDumpLeavesTheProcessAsItWas(signal: String, place: Place) async throws {
    let victim = try await LiveVictim()
    let debugger = try debugger(
      of: victim, place.commands, signal, ["live-dump", "obeying"])
    try debugger.waitForLine("ready")
    let record = try victim.runRecord()
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let run = try await ChildProcess.run(
      tool, ["capture", "\(record.processID)", "--timeout", "60"], in: "/tmp")
    #expect(run.end.exitCode == 0, "\(run)")
    // The watchdog's is no tick of a timer that runs: nothing comes of it. Another one waited until the
    // dump was done, and is a crash of its own.
    if signal == "watchdog" { kill(Int32(bitPattern: record.processID), SIGTERM) }
    let end = signal == "watchdog" ? "SIGTERM" : signal
    try debugger.waitForLine { $0.contains("Breakpoint 1, ") }
    try debugger.waitForLine { $0.contains("terminated with signal \(end)") }
    _ = debugger.waitForEnd()
    _ = try await victim.process()
    let dump = try #require(
      try victim.reports().map { try victim.snapshot(of: $0) }.first { $0.request != nil })
    #expect(dump.capture.isComplete)
    // It waits for its next line.
    let thread = try #require(dump.threads.first { $0.id == record.processID })
    let place = try #require(thread.instructionPointer)
    #expect(dump.module(containing: place)?.path.contains("libc.so") == true)
  }
}
