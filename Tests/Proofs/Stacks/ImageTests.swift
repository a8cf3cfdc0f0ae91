import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Images in memory, from any linker and any loader.
///
/// A module without frame pointers has a frame on the crashing stack: without its unwind tables, the unwinder
/// cannot find the callers.
@Suite(.serialized)
struct ImageTests {
  private func crash(
    _ module: LinkedModule, _ condition: String, _ kind: String = "null-write"
  ) async throws -> (Victim, ProcessSnapshot) {
    let victim = try await Victim(.asTested)
    let child = try await ChildProcess.run(
      victim.executable,
      [kind, "--database", victim.database, "--condition", condition],
      in: try victim.directory("handled"),
      environment: ["SWIFT_BACKTRACE": "enable=no", "CRASHLAB_MODULE": module.path],
      coreFile: .allowed)
    try #require(child.end.signal == SIGSEGV, "\(child.standardError)")
    // The dump in the log has another module in addition to the program; after an overflow, all its frames are in the
    // program.
    let logged = try #require(try LoggedReport.snapshots(in: child.standardError).first)
    #expect(logged.modules.count > 1 || kind == "stack-overflow")
    #expect(try await victim.process().count == 1)
    return (victim, try Victim.snapshot(of: try #require(try victim.reports().first)))
  }

  private func frames(_ snapshot: ProcessSnapshot) throws -> [StackFrame] {
    Stackwalker(snapshot: snapshot, symbols: SymbolSource())
      .frames(of: try #require(snapshot.crashedThread), limit: 100)
      .filter { !$0.isInlined && $0.trust != .tailCall }
  }

  /// The base address that a debugger would use for an image: the lowest mapping of its file.
  private func lowestMapping(_ snapshot: ProcessSnapshot, _ path: String) -> Address? {
    snapshot.mappings.first { $0.path == path }?.start
  }

  @Test(.needs(.gdb), arguments: LinkedModule.Layout.allCases)
  func eachLinkersGdbsFrames(_ layout: LinkedModule.Layout) async throws {
    let directory = try TemporaryDirectory()
    let module = try await LinkedModule(layout, in: directory.path)
    let (victim, snapshot) = try await crash(module, "in-module")
    let image = try #require(snapshot.modules.first { $0.path == module.path })
    #expect(image.address == lowestMapping(snapshot, module.path))
    #expect(image.source == .linker)
    #expect(snapshot.modules.count { $0.path == module.path } == 1)
    #expect(snapshot.modules.filter { $0.source == .headers } == [])
    // Without unwind tables, scanning the stack may find the same frames.
    let frames = try frames(snapshot)
    let index = snapshot.modules.firstIndex { $0.path == module.path }
    let inside = try #require(frames.firstIndex { $0.moduleIndex == index }, "\(frames)")
    try #require(frames.count > inside + 1)
    #expect(frames[inside + 1].trust == .callFrameInformation)
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(layout): not compared with gdb: \(obstacle)")
      return
    }
    let gdb = try await GDB.view(
      core: try CoreFile.path(in: try victim.directory("handled")), of: victim.executable,
      directory: try victim.directory("gdb"))
    var comparison = StackComparison()
    comparison.add(
      try #require(snapshot.crashedThread), of: snapshot,
      Stackwalker(snapshot: snapshot, symbols: SymbolSource()), gdb.frames)
    #expect(comparison.frameCount >= 10)
    #expect(comparison.differences.isEmpty, "\(comparison.differences.joined(separator: "\n"))")
    // A core file has only the first page of a file that was not changed, and nothing of `withoutHeaders`.
    guard layout != .withoutHeaders else { return }
    let core = try CoreComparison.snapshot(
      ofCore: try CoreFile.path(in: try victim.directory("handled")))
    let found = try #require(core.modules.first { $0.path == module.path })
    #expect(found.address == image.address && found.size == image.size)
    #expect(found.buildID == image.buildID)
    let names = try self.frames(core).map { $0.symbol?.linkageName }
    #expect(names == frames.map { $0.symbol?.linkageName })
  }

  /// A condition of crash-lab, the function that called the module, and the source from which the handler knows
  /// the module.
  static let origins: [(condition: String, caller: String, source: ModuleSnapshot.Source)] = [
    ("deleted-module", "in_module", .linker), ("replaced-module", "in_module", .linker),
    ("memfd-module", "condition_in_memfd_module", .linker),
    ("other-namespace", "condition_in_other_namespace", .headers),
    ("copied-module", "condition_in_copied_module", .headers),
    ("moved-module", "condition_in_moved_module", .linker),
  ]

  @Test(arguments: origins, [LinkedModule.Layout.lld, .bfd, .oneSegment])
  func removedReplacedWithoutAFileOfAnotherNamespaceCopiedMovedTheCallersAreThere(
    _ origin: (condition: String, caller: String, source: ModuleSnapshot.Source),
    _ layout: LinkedModule.Layout
  ) async throws {
    let directory = try TemporaryDirectory()
    let module = try await LinkedModule(layout, in: directory.path)
    let (_, snapshot) = try await crash(module, origin.condition)
    let frames = try frames(snapshot)
    let main = try #require(snapshot.modules.firstIndex { $0.source == .program })
    let inside = try #require(
      frames.firstIndex { $0.moduleIndex != main }, "\(frames)")
    let image = snapshot.modules[try #require(frames[inside].moduleIndex)]
    #expect(image.source == origin.source)
    #expect(frames[inside].trust == .callFrameInformation || frames[inside].trust == .framePointer)
    try #require(frames.count > inside + 1)
    #expect(frames[inside + 1].trust == .callFrameInformation)
    #expect(frames[inside + 1].symbol?.linkageName == origin.caller)
    // The walk continues to the first function.
    #expect(frames.last?.symbol?.linkageName == "_start")
  }

  /// Some programs move their code onto huge pages, which have no file.
  @Test func theProgramsCodeInMemoryWithoutAFileItsOwnModuleNamesAndLines() async throws {
    let directory = try TemporaryDirectory()
    let module = try await LinkedModule(.lld, in: directory.path)
    let (victim, snapshot) = try await crash(module, "moved-code")
    let program = try #require(snapshot.modules.first { $0.source == .program })
    #expect(program.path == victim.executable)
    let pointer = try #require(snapshot.crashedThread?.instructionPointer)
    #expect(snapshot.mapping(containing: pointer)?.path == "")
    #expect(program.contains(pointer))
    #expect(try frames(snapshot).last?.symbol?.linkageName == "_start")
  }

  @Test(arguments: ["stack-overflow", "alloca"])
  func anOverflowIntoAGuardWithinTheMappingOfThreeStacks(_ kind: String) async throws {
    let directory = try TemporaryDirectory()
    let module = try await LinkedModule(.lld, in: directory.path)
    let (_, snapshot) = try await crash(module, "guarded-stack", kind)
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    #expect(report.cause?.kind == "stack-overflow")
    let thread = try #require(snapshot.crashedThread)
    let stack = try #require(thread.stackRange)
    // The range is that of one of the three stacks, not of all three together.
    #expect(stack.byteCount == 1 << 20)
    #expect(thread.stackBytesOmitted == 0)
    let others = snapshot.threads.filter { $0.id != thread.id }.compactMap(\.stackRange)
    #expect(others.allSatisfy { !$0.overlaps(stack) })
  }
}
