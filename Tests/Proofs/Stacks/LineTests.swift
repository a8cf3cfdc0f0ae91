import CrashCatalogue
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Compares functions, files, lines and inlined calls of the crashing thread with those of gdb on the core file
/// of the same crash.
///
/// Each address is looked up separately, so this compares symbols and not unwinding. On tasks, only the kinds of
/// crashes in `KnownCrash.debugged` are compared; with `POSTMORTEM_LINES=all`, all kinds, for which gdb takes
/// twice as long.
@Suite struct LineTests {
  private static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_LINES"] == "all"

  private static func places(of crash: KnownCrash) -> [CrashPlace] {
    let isDebugged = KnownCrash.debugged.contains { $0.kind == crash.kind }
    let places: [CrashPlace] = isFull || isDebugged ? [.main, .task] : [.main]
    return places.filter { crash.places.contains($0) }
  }

  @Test(
    .needs(.gdb),
    .enabled(if: CoreFile.obstacle == nil || OutsideTool.mustBeThere),
    arguments: BuildConfiguration.dynamic)
  func theSameAsGdbs(configuration: BuildConfiguration) async throws {
    var comparison = LineComparison(module: try await Victim(configuration).executable)
    // These two leave no complete core file: SIGPIPE makes none, and the limit on file sizes truncates it.
    for crash in KnownCrash.all where !["file-size-limit", "pipe"].contains(crash.kind) {
      for place in Self.places(of: crash) {
        let victim = try await Victim(configuration)
        _ = try await victim.die(crash.kind, on: place, coreFile: .allowed)
        _ = try await victim.process()
        let report = try #require(
          try victim.reports().first, "\(crash.kind) on \(place) left no report")
        let snapshot = try Victim.snapshot(of: report)
        let core = try CoreFile.path(in: try victim.directory("handled"))
        let gdb = try await GDB.view(
          core: core, of: victim.executable, directory: try victim.directory("gdb"))
        comparison.add(
          try #require(gdb.crashedThread.flatMap { gdb.sources[$0] }), of: snapshot,
          "\(crash.kind) on \(place)")
      }
    }
    print("\(configuration): \(comparison)")
    #expect(comparison.frameCount >= 60)
    try await comparison.check(configuration)
  }

  @Test func namesAndLinesAreStoredAtConversionAndUsedWhenTheBuildIsGone() async throws {
    let victim = try await Victim(.asTested)
    _ = try await victim.die("null-read", on: .main)
    _ = try await victim.process(storingSymbols: true)
    let report = try #require(try victim.reports().first)
    var snapshot = try Victim.snapshot(of: report)
    let index = try #require(snapshot.modules.firstIndex { $0.path == victim.executable })
    func crash(_ snapshot: ProcessSnapshot, _ symbols: SymbolSource) throws -> [StackFrame] {
      let thread = try #require(snapshot.crashedThread)
      return Stackwalker(snapshot: snapshot, symbols: symbols).frames(of: thread, limit: 3)
    }
    let fresh = try crash(snapshot, SymbolSource(stored: snapshot.storedSymbols))
    #expect(fresh.first?.symbol?.linkageName.contains("crash_null_read") == true)
    #expect(fresh.allSatisfy { !$0.isStored })
    // Simulates another build of the program at the same path.
    snapshot.modules[index].buildID[0] ^= 0xFF
    let symbols = SymbolSource(stored: snapshot.storedSymbols)
    let later = try crash(snapshot, symbols)
    #expect(later.first?.symbol == fresh.first?.symbol)
    #expect(later.first?.sourceLocation == fresh.first?.sourceLocation)
    #expect(later.first?.sourceLocation?.line != nil)
    #expect(later.first?.isStored == true)
    let note = try #require(symbols.note(on: snapshot.modules[index]))
    #expect(note.contains("not the same build") && note.contains("stored at conversion"))
  }
}
