import CrashCatalogue
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Functions, files, lines and inlined calls of the crashing thread, against gdb on the core file of the same crash.
///
/// Address by address, so that it is symbols that are compared and not unwinding. On a task only the kinds that
/// debuggers look at elsewhere too; with `POSTMORTEM_LINES=all` every kind, which doubles the minutes that gdb takes.
@Suite("Lines of a crash")
struct LineTests {
  private static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_LINES"] == "all"

  private static func places(of crash: KnownCrash) -> [CrashPlace] {
    let isDebugged = KnownCrash.debugged.contains { $0.kind == crash.kind }
    let places: [CrashPlace] = isFull || isDebugged ? [.main, .task] : [.main]
    return places.filter { crash.places.contains($0) }
  }

  @Test(
    "The same as gdb's", .needs(.gdb),
    .enabled(if: CoreFile.obstacle == nil || OutsideTool.mustBeThere),
    arguments: BuildConfiguration.dynamic)
  func sameAsGDB(configuration: BuildConfiguration) async throws {
    var compared = 0
    var differences: [String] = []
    var inlined = 0
    // Without a core file: SIGPIPE makes none, and the limit on files' sizes ends that one too.
    for crash in KnownCrash.all where !["file-size-limit", "pipe"].contains(crash.kind) {
      for place in Self.places(of: crash) {
        let victim = try await Victim(configuration)
        _ = try await victim.die(crash.kind, on: place, coreFile: .allowed)
        _ = try await victim.process()
        let report = try #require(
          try victim.reports().first, "\(crash.kind) on \(place) left no report")
        let snapshot = try Victim.snapshot(of: report)
        let core = try CoreFile.path(in: try victim.folder("handled"))
        let gdb = try await GDB.view(
          core: core, of: victim.executable, folder: try victim.folder("gdb"))
        let symbols = SymbolSource()
        // Runs of inlined calls, each with the function they were inlined into.
        var start = 0
        for (index, frame) in gdb.sources.enumerated() where !frame.isInlined {
          let theirs = gdb.sources[start...index].map(Self.text)
          start = index + 1
          let bare = StackFrame(
            address: frame.address, isReturnAddress: frame.isReturnAddress, trust: .context)
          guard let module = snapshot.module(containing: bare.lookupAddress),
            module.path == victim.executable
          else { continue }
          let ours = symbols.frames(at: bare, in: module).map(Self.text)
          compared += 1
          inlined += ours.count - 1
          if ours != theirs, !Self.isForeignLine(ours, theirs) {
            differences.append(
              "\(crash.kind) on \(place) at 0x\(String(frame.address, radix: 16)): \(ours), gdb: \(theirs)"
            )
          }
        }
      }
    }
    print(
      "\(configuration): \(compared) frames, \(inlined) inlined, \(differences.count) different")
    #expect(compared >= 60)
    let allowed = configuration == .release ? compared / 100 : 0
    #expect(differences.count <= allowed, "\(differences.joined(separator: "\n"))")
  }

  /// All code of the release build's `CrashLab_main` has line 0: gdb shows the line of the function in front of it.
  private static func isForeignLine(_ ours: [String], _ theirs: [String]) -> Bool {
    ours.last?.hasPrefix("CrashLab_main ") == true && ours.count == theirs.count
      && ours.first?.hasSuffix(" -:0") == true && ours.dropFirst() == theirs.dropFirst()
  }

  private static func text(_ frame: DebuggerView.SourceFrame) -> String {
    "\(frame.isInlined ? "inlined " : "")\(frame.function) \(frame.file ?? "-"):\(frame.line)"
  }

  private static func text(_ frame: StackFrame) -> String {
    let line = frame.sourceLocation?.line
    let file = line == nil ? "-" : frame.sourceLocation?.file ?? "-"
    return
      "\(frame.isInlined ? "inlined " : "")\(frame.symbol?.linkageName ?? "-") \(file):\(line ?? 0)"
  }

  @Test("Names and lines are stored at conversion, and used when the build is gone")
  func stored() async throws {
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
    // Another build in its place.
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
