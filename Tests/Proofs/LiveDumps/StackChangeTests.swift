import CrashAnalysis
import CrashConverter
import CrashTestSupport
import Foundation
import Glibc
import PendingDumps
import ProcessSnapshot
import Testing

/// Signals at the moments at which the handler changes stacks or states.
///
/// gdb stops the process at these moments, and sends the signals.
@Suite(.serialized, .needs(.gdb)) struct StackChangeTests {
  private static let signals = ["SIGSEGV", "SIGILL", "watchdog"]

  /// An instruction at which gdb stops the process.
  enum Place: String {
    /// Like `dumpBegins`, for a crash.
    case crashBegins
    /// The dump is written, and the crash's own signal is about to end the process.
    case crashEnds
    /// The alternate stack is disabled, and no other stack for signals is set yet.
    case dumpBegins
    /// The thread is no longer registered as the dump's thread, and still owns the handler.
    case dumpIsOver

    var commands: [String] {
      switch self {
      case .crashBegins: ["break pm_capture_crash", "run"]
      case .crashEnds:
        ["rbreak ^.s12CrashHandler7CaptureV17restoreAndReraise", "run"]
      case .dumpBegins: ["break pm_capture_dump", "run"]
      case .dumpIsOver: ["rbreak ^.s12CrashHandler7CaptureV13closeDumpFileyyF$", "run"]
      }
    }
  }

  private func debugger(
    of victim: LiveVictim, _ commands: [String], _ signal: String, _ arguments: [String]
  ) throws -> RunningVictim {
    // The watchdog's signal in a program that uses no real-time signals itself.
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

  /// A handler that was installed before ours recovers from the crash.
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
    // The watchdog's signal is not from a running timer, so it is ignored. Another signal stays pending until the
    // dump is written, and is a separate crash.
    if signal == "watchdog" { kill(Int32(bitPattern: record.processID), SIGTERM) }
    let end = signal == "watchdog" ? "SIGTERM" : signal
    try debugger.waitForLine { $0.contains("Breakpoint 1, ") }
    try debugger.waitForLine { $0.contains("terminated with signal \(end)") }
    _ = debugger.waitForEnd()
    _ = try await victim.process()
    let dump = try #require(
      try victim.reports().map { try victim.snapshot(of: $0) }.first { $0.request != nil })
    #expect(dump.capture.isComplete)
    // The main thread waits for its next line of input.
    let thread = try #require(dump.threads.first { $0.id == record.processID })
    let place = try #require(thread.instructionPointer)
    #expect(dump.module(containing: place)?.path.contains("libc.so") == true)
  }
}
