import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Stackwalk
import Testing

/// Tasks of Swift concurrency in real crashes: their names, priorities, and waiting functions.
@Suite struct TaskTests {
  @Test(arguments: BuildConfiguration.dynamic)
  func theChainOfAwaitsThatLedToACrashWithItsLines(_ configuration: BuildConfiguration) async throws
  {
    let report = try await CauseTests.report(
      "await-chain", on: .task, isNamed: true, configuration: configuration)
    let thread = try #require(report.threads.first)
    let task = try #require(thread.task)
    let fields = try #require(task.fields)
    #expect(fields.name == "crash-lab importer")
    #expect(fields.priorityWord == "low")
    #expect(!fields.isCancelled && !fields.isChild)
    #expect(fields.id > 0)
    let callee = thread.frames[try #require(task.calls.calleeIndex)]
    #expect(callee.function.map(FunctionName.short) == "CrashLab.awaitInner(_:words:)")
    let names = task.frames.compactMap { $0.function.map(FunctionName.short) }
    #expect(
      names == [
        "CrashLab.Importer.awaitMiddle(_:)", "CrashLab.awaitOuter(_:)",
        "closure #1 in CrashLab.crash_await_chain()",
      ])
    for frame in task.frames {
      #expect(frame.trust == .asyncContext)
      #expect(report.snapshot.modules.module(of: frame)?.name == "crash-lab")
      #expect(frame.sourceLocation?.file.hasSuffix("/RuntimeKinds.swift") == true)
    }
    // The line of each await, innermost first; in the file, outer functions are further up.
    let lines = task.frames.compactMap(\.sourceLocation?.line)
    #expect(lines.count == 3 && lines == lines.sorted(by: >), "\(lines)")
    #expect(!task.calls.isCut && task.calls.omittedCount == 0)
  }

  @Test func theCallersThatWaitKeepTheirNamesWhenTheBuildIsGone() async throws {
    let victim = try await Victim(.asTested)
    _ = try await victim.die("await-chain", on: .task)
    _ = try await victim.process(storingSymbols: true)
    var snapshot = try Victim.snapshot(of: try #require(try victim.reports().first))
    let index = try #require(snapshot.modules.firstIndex { $0.path == victim.executable })
    // Simulates another build of the program at the same path.
    snapshot.modules[index].buildID[0] ^= 0xFF
    let thread = try #require(CrashReport(snapshot: snapshot, symbolicating: true).threads.first)
    let names = try #require(thread.task).frames.compactMap { $0.function.map(FunctionName.short) }
    #expect(
      names == [
        "CrashLab.Importer.awaitMiddle(_:)", "CrashLab.awaitOuter(_:)",
        "closure #1 in CrashLab.crash_await_chain()",
      ])
  }

  @Test func theMinidumpKeepsWhatATaskIsReadFrom() async throws {
    let victim = try await Victim(.asTested)
    _ = try await victim.die("await-chain", on: .task)
    let captured = try CauseTests.snapshot(inDatabase: victim.database)
    let path = try victim.directory("minidump") + "/crash.dmp"
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try MinidumpWriter.write(captured, to: descriptor)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    #expect(snapshot.tasks == captured.tasks)
    let task = try #require(snapshot.tasks.first)
    #expect(task.threadID == snapshot.exception?.threadID)
    #expect(task.fields(in: snapshot.memory)?.name == "crash-lab importer")
    // A thread that runs no task has no task in the snapshot.
    #expect(!snapshot.tasks.contains { $0.threadID == snapshot.process.processID })
  }
}
