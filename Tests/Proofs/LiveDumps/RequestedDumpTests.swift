import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// `postmortem capture` for processes that cannot answer, or that are doing other things at the same time.
@Suite struct RequestedDumpTests {
  private func start(_ victim: LiveVictim) throws -> RunningVictim {
    let running = try victim.start("live-dump", "obeying")
    try running.waitForLine("ready")
    return running
  }

  private func capture(
    _ running: RunningVictim, _ words: String..., as user: [String] = []
  ) async throws -> ChildProcess {
    // Unoptimized, the tool needs most of the time in which a report finds names, and a busy machine uses up the rest.
    let tool = try await BuiltProducts.shared.executable("postmortem", .release)
    let command = user + [tool, "capture", "\(running.processID)"] + words
    return try await ChildProcess.run(command[0], Array(command.dropFirst()), in: "/tmp")
  }

  /// A program's own handler of the stop signal cannot be seen from outside; without a free descriptor the
  /// handler cannot open a file.
  @Test(arguments: ["own", "fill"]) func theDeadlinePasses(order: String) async throws {
    let victim = try await LiveVictim()
    let running = try start(victim)
    try running.ask(order)
    let before = try victim.pendingFiles()
    let run = try await capture(running, "--timeout", "1")
    #expect(
      run.end.exitCode == 1 && run.standardError.contains("wrote no dump within 1 s"), "\(run)")
    try running.ask("alive")
    // As for any dump that could not be made, a FIFO without a file may remain; a converter removes it.
    let left = try victim.pendingFiles().filter { !$0.hasSuffix(".fifo") }
    #expect(left == before.filter { !$0.hasSuffix(".fifo") })
  }

  @Test func aStoppedProcessIsRefused() async throws {
    let victim = try await LiveVictim()
    let running = try start(victim)
    running.signal(SIGSTOP)
    while try KernelFile.text("/proc/\(running.processID)/stat").contains(") T ") == false {
      try await Task.sleep(for: .milliseconds(10))
    }
    let run = try await capture(running)
    #expect(run.end.exitCode == 1 && run.standardError.contains("is stopped"), "\(run)")
    running.signal(SIGCONT)
    try running.ask("alive")
  }

  @Test(.enabled(if: geteuid() == 0)) func anotherUsersProcessIsRefused() async throws {
    let victim = try await LiveVictim()
    let running = try start(victim)
    let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let run = try await capture(running, as: nobody)
    #expect(run.end.exitCode == 1 && run.standardError.contains("cannot be examined"), "\(run)")
    try running.ask("alive")
    #expect(try await capture(running).end.exitCode == 0)
  }

  /// The names are those of the running build, although its path leads to another one.
  @Test func anExecutableThatWasReplacedMeanwhileKeepsItsNames() async throws {
    let victim = try await LiveVictim()
    let path = victim.directory.path + "/server"
    try Spawn.copyProgram(victim.executable, to: path)
    let running = try RunningVictim(
      path, ["live-dump", "obeying", "--database", victim.database])
    try running.waitForLine("ready")
    let other = try await BuiltProducts.shared.executable("postmortem", .asTested)
    try Spawn.copyProgram(other, to: path + ".new")
    try #require(unsafe rename(path + ".new", path) == 0)
    // The time in which a report finds names is limited, and a busy machine can use it up.
    var names: [String] = []
    for _ in 0..<8 where !names.contains(where: { $0.hasPrefix("$s8CrashLab") }) {
      let run = try await capture(running)
      #expect(run.end.exitCode == 0, "\(run)")
      names += try victim.reports().flatMap { report in
        try victim.snapshot(of: report).storedSymbols?.functions.values.joined()
          .map(\.linkageName) ?? []
      }
    }
    #expect(names.contains { $0.hasPrefix("$s8CrashLab") }, "\(names)")
    try running.ask("alive")
  }

  /// Each request gets a report, or is refused because of another one; afterwards a crash is captured as usual.
  @Test func manyAtOnceAndThenACrash() async throws {
    let victim = try await LiveVictim()
    let running = try start(victim)
    let runs = try await withThrowingTaskGroup(of: ChildProcess.self) { group in
      for number in 0..<24 {
        group.addTask {
          try await capture(running, "--timeout=5", number % 2 == 0 ? "--all-threads" : "--json")
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    // In the meantime each thread is inside the handler, where every signal is blocked.
    for words in ["blocks signal", "is not the process in its run record", "has no run record"] {
      #expect(!runs.contains { $0.standardError.contains(words) }, "\(runs)")
    }
    let taken = runs.count { $0.end.exitCode == 0 }
    #expect(taken > 0 && runs.allSatisfy { [0, 1].contains($0.end.exitCode) }, "\(runs)")
    try running.ask("alive")
    #expect(try victim.reports().count == taken)
    running.signal(SIGSEGV)
    _ = running.waitForEnd()
    _ = try await victim.process()
    let reports = try victim.reports().map { try victim.snapshot(of: $0) }
    #expect(reports.count == taken + 1)
    #expect(reports.count { $0.request == nil && $0.exception?.signal == SIGSEGV } == 1)
    #expect(reports.allSatisfy { $0.capture.isComplete })
  }

  /// Crash signals are sent while dumps are taken: one of them ends the process, and its report is complete.
  @Test func aCrashInTheMidst() async throws {
    for delay in stride(from: 0, through: 20_000, by: 2_000) {
      let victim = try await LiveVictim()
      let running = try start(victim)
      async let dump = capture(running, "--timeout=1", "--all-threads")
      usleep(30_000 + UInt32(delay))
      running.signal(SIGSEGV)
      #expect(running.waitForEnd() == SIGSEGV)
      _ = try await dump
      _ = try await victim.process()
      let reports = try victim.reports().map { try victim.snapshot(of: $0) }
      #expect(reports.count { $0.exception?.signal == SIGSEGV } == 1, "after \(delay) us")
    }
  }
}
