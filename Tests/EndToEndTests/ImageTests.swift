import CrashAnalysis
import CrashCatalogue
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// The images of a crash, from the dynamic linker's list and the program headers.
///
/// `swift run proofs stacks` tests every linker, and compares with gdb.
@Suite struct ImageTests {
  private let directory = try! SharedDirectory()

  /// The snapshot of a crash in which a module without frame pointers, linked by lld, calls crash-lab.
  private func crash(
    _ kind: String, _ condition: String, _ options: String...
  ) async throws -> ProcessSnapshot {
    let module = try await LinkedModule(.lld, in: directory.path)
    let database = directory.path + "/db"
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      [kind, "--database", database, "--condition", condition] + options, in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no", "CRASHLAB_MODULE": module.path])
    try #require(child.end.signal == SIGSEGV, "\(child.standardError)")
    let name = try #require(
      directory.names("db/pending-serialized-dumps").first {
        !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
      })
    let bytes = try Data(
      contentsOf: URL(fileURLWithPath: "\(database)/pending-serialized-dumps/\(name)"))
    return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: [UInt8](bytes)))
  }

  @Test(
    arguments: [
      ("in-module", .linker), ("memfd-module", .linker), ("copied-module", .headers),
    ] as [(String, ModuleSnapshot.Source)])
  func aSmallModuleOfLldHasItsCallersLoadedFromAMemfdOrCopied(
    _ condition: String, _ source: ModuleSnapshot.Source
  ) async throws {
    try checkCallers(try await crash("null-write", condition), source)
  }

  /// As if Landlock or a filter had closed /proc after the start.
  @Test func withoutProcTheLinkersListHasTheModulesAndTheCallersAreThere() async throws {
    let snapshot = try await crash("null-write", "in-module", "--forgo", "files")
    #expect(snapshot.mappings.isEmpty)
    for name in ["crash-lab", "libc.so.6", "linux-gate.so"] {
      #expect(snapshot.modules.count { $0.name == name } == 1, "\(name)")
    }
    try checkCallers(snapshot, .linker)
  }

  private func checkCallers(_ snapshot: ProcessSnapshot, _ source: ModuleSnapshot.Source) throws {
    #expect(snapshot.modules.first { $0.source == .program }?.path.hasSuffix("/crash-lab") == true)
    let main = snapshot.modules.firstIndex { $0.source == .program }
    let frames = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
      .frames(of: try #require(snapshot.crashedThread), limit: 40)
    let inside = try #require(frames.firstIndex { $0.moduleIndex != main }, "\(frames)")
    #expect(snapshot.modules[try #require(frames[inside].moduleIndex)].source == source)
    try #require(frames.count > inside + 1)
    #expect(frames[inside + 1].moduleIndex == main)
    #expect(frames[inside + 1].trust == .callFrameInformation)
  }

  /// glibc 2.42 places its guards inside the mapping.
  @Test func anOverflowIntoAGuardWithinTheMappingOfThreeStacks() async throws {
    let snapshot = try await crash("alloca", "guarded-stack")
    let cause = try #require(CrashReport(snapshot: snapshot, symbolicating: false).cause)
    #expect(cause.kind == "stack-overflow")
    // Since Linux 6.15, the kernel's page map marks guard regions.
    let page = try #require(snapshot.exception?.faultPage)
    #expect(cause.certainty == (page >> 58 & 1 == 1 ? .certain : .likely))
    #expect(snapshot.crashedThread?.stackRange?.byteCount == 1 << 20)
    #expect(snapshot.crashedThread?.stackBytesOmitted == 0)
  }
}
