import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// The kinds of crashes that debuggers examine, in debug and release builds: the program ends as it would without
/// the handler, and leaves one report with the same facts as the kernel and the debuggers show.
///
/// The catalogue tests every kind on every kind of thread without debuggers, and its message.
@Suite struct FaithfulDeathTests {
  struct Scene: Sendable, CustomTestStringConvertible {
    let crash: KnownCrash
    let place: CrashPlace
    let configuration: BuildConfiguration
    var testDescription: String {
      "\(crash.kind) on \(place.rawValue), \(configuration.rawValue)"
    }

    private static let isFull =
      ProcessInfo.processInfo.environment["POSTMORTEM_DEATHS"] != nil

    /// Each kind on two kinds of threads, one in each build; with `--full` on every one in both.
    static let all = KnownCrash.debugged.enumerated().flatMap { number, crash in
      BuildConfiguration.dynamic.enumerated().flatMap { build, configuration in
        CrashPlace.kinds.indices
          .filter { isFull || $0 == (number + 2 * build) % CrashPlace.kinds.count }
          .map {
            Scene(crash: crash, place: CrashPlace.kinds[$0], configuration: configuration)
          }
      }
    }
  }

  @Test(.needs(.gdb), .needs(.lldb), arguments: Scene.all)
  func oneCrashOneReportTheSameEnd(_ scene: Scene) async throws {
    let crash = scene.crash
    let victim = try await Victim(scene.configuration)
    let alone = try await victim.dieAlone(crash.kind, on: scene.place, coreFile: .allowed)
    let handled = try await victim.die(crash.kind, on: scene.place, coreFile: .allowed)
    #expect(alone.end.signal == crash.signal)
    #expect(handled.end == alone.end, "signal and core file must be those without the handler")
    #expect(handled.standardOutput == alone.standardOutput)

    let lines = try await victim.process()
    #expect(lines.count == 1)
    let reports = try victim.reports()
    let report = try #require(reports.first)
    #expect(reports.count == 1)
    #expect(lines.first?.contains(report.id.description.prefix(8)) == true)
    #expect(lines.first?.tellsAWholeDump == true)
    #expect(try victim.pendingFiles() == [])

    let snapshot = try Victim.snapshot(of: report)
    try checkSnapshot(snapshot, crash, processID: handled.processID, executable: victim.executable)

    let lldb = try await LLDB.view(dump: report.path, directory: try victim.directory("lldb"))
    checkStack(lldb, crash, scene.place)
    #expect(Set(lldb.threads) == Set(snapshot.threads.map(\.id)))
    #expect(lldb.crashedThread == snapshot.exception?.threadID)

    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      // Only this part needs a core file; the reason is printed with the test.
      print("\(crash.kind), \(scene.testDescription): not compared with gdb: \(obstacle)")
      return
    }
    let core = try CoreFile.path(in: try victim.directory("handled"))
    let gdb = try await GDB.view(
      core: core, of: victim.executable, directory: try victim.directory("gdb"))
    checkSameProcess(lldb, gdb)
    var comparison = StackComparison()
    comparison.add(
      try #require(snapshot.crashedThread), of: snapshot,
      Stackwalker(snapshot: snapshot, symbols: SymbolSource()), gdb.frames)
    #expect(comparison.frameCount >= 3)
    #expect(comparison.differences.isEmpty, "\(comparison.differences.joined(separator: "\n"))")
    #expect(snapshot.exception?.signal == gdb.signal)
    #expect(snapshot.exception?.code == gdb.signalCode)
    if let address = snapshot.exception?.address { #expect(address.value == gdb.signalAddress) }
  }

  /// Compares the snapshot with the known facts about the victim.
  private func checkSnapshot(
    _ snapshot: ProcessSnapshot, _ crash: KnownCrash, processID: Int32, executable: String
  ) throws {
    #expect(snapshot.capture.isComplete)
    #expect(snapshot.process.processID == UInt32(processID))
    #expect(snapshot.annotations["purpose"] == "crash")
    let exception = try #require(snapshot.exception)
    #expect(exception.signal == crash.signal)
    #expect(exception.code == crash.code)
    let thread = try #require(snapshot.crashedThread)
    switch crash.address {
    case .exactly(let address): #expect(exception.address?.value == address)
    case .instruction: #expect(exception.address == thread.instructionPointer)
    case .any: #expect(exception.address != nil)
    case .none: #expect(exception.address == nil)
    }
    // Every thread was stopped and read, including the sleepers, which have names.
    let unread = snapshot.threads.filter { $0.context == nil || $0.stack.isEmpty }
    #expect(
      unread.isEmpty,
      "\(unread.map { ($0.name, $0.state, $0.captureMethod, $0.blockedSignals, $0.systemCall) })")
    let names = Set(snapshot.threads.compactMap(\.name))
    #expect(names.isSuperset(of: (1...Victim.sleepers).map { "sleeper-\($0)" }))
    #expect(snapshot.modules.contains { $0.path == executable && !$0.buildID.isEmpty })
  }

  /// The stack of the crashing thread contains the victim's function and, as an outer frame, the function of its place.
  private func checkStack(_ view: DebuggerView, _ crash: KnownCrash, _ place: CrashPlace) {
    let functions = view.frames.compactMap(\.function)
    let crashed = functions.firstIndex { $0.contains(crash.function) }
    let below = functions.lastIndex { $0.contains(place.function) }
    #expect(crashed != nil, "no \(crash.function) in \(functions)")
    #expect(
      below != nil || view.frames.count == LLDB.maximumFrames,
      "no \(place.function) in \(functions)")
    if let crashed, let below { #expect(crashed <= below) }
  }

  /// LLDB on the minidump and gdb on the core file of the same crash show the same threads and frames.
  private func checkSameProcess(_ lldb: DebuggerView, _ gdb: DebuggerView) {
    #expect(Set(lldb.threads) == Set(gdb.threads))
    #expect(lldb.threads.count == gdb.threads.count)
    #expect(lldb.crashedThread == gdb.crashedThread)
    for name in DebuggerView.registerNames {
      #expect(lldb.registers[name] != nil, "\(name)")
      #expect(lldb.registers[name] == gdb.registers[name], "\(name)")
    }
    #expect(lldb.frames.first?.address == gdb.frames.first?.address)
    #expect(lldb.frames.first?.function == gdb.frames.first?.function)
  }
}
