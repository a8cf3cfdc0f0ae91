import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Breakpad's processor reads the symbols that `postmortem symbols` writes.
@Suite(
  .serialized,
  .enabled("PyPI's symbolic 8.8.0 and 12.12.0, as .ci/run installs them") {
    try await BreakpadProcessor.isWanted()
  })
struct BreakpadTests {
  struct Crash: Sendable, CustomTestStringConvertible {
    let kind: String
    var place = CrashPlace.main
    /// True to replace `abort` with a library function that has no frame pointers and has inlined calls.
    var hasLibrary = false
    var testDescription: String { kind + (hasLibrary ? ", without frame pointers" : "") }
  }

  static let crashes = [
    Crash(kind: "null-read", place: .pthread),
    Crash(kind: "null-write", place: .dispatch),
    Crash(kind: "index-out-of-range"),
    Crash(kind: "unwrap-nil", place: .pthread),
    Crash(kind: "abort"),
    Crash(kind: "divide-by-zero"),
    Crash(kind: "cxx-exception"),
    Crash(kind: "abort", hasLibrary: true),
  ]

  private static let library = """
    #include <stdlib.h>
    static inline __attribute__((always_inline)) void poke(int *p) { *(volatile int *)p = 3; }
    static inline __attribute__((always_inline)) void reach(int *p) { poke(p + 1); }
    __attribute__((noinline)) int bottom(int *p) { reach(p); return p != 0; }
    __attribute__((noinline)) int aligned(int *p) {
      __attribute__((aligned(64))) volatile char room[256];
      room[0] = (char)bottom(p);
      return room[0] + 1;
    }
    __attribute__((noinline)) int grown(int *p, int n) {
      volatile char room[n];
      room[0] = (char)aligned(p);
      return room[0] + 1;
    }
    static inline __attribute__((always_inline)) int middle(int *p) { return grown(p, 100) + 2; }
    __attribute__((noreturn)) void abort(void) { exit(middle(0)); }
    """

  /// A frame that is not inlined, and the calls that are inlined into it.
  private struct Place: Equatable, CustomStringConvertible {
    let address: UInt64
    var calls: [BreakpadProcessor.Call]
    var description: String { "0x\(String(address, radix: 16)) \(calls)" }
  }

  @Test(
    arguments: ProofExtent.isSample ? crashes.suffix(1) : crashes,
    ProofExtent.isSample ? [.release] : BuildConfiguration.dynamic)
  func framesFunctionsLinesAndInlinedCallsAreOurs(
    _ crash: Crash, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let directory = try victim.directory("breakpad")
    var own = [victim.executable]
    var environment = ["SWIFT_BACKTRACE": "enable=no"]
    if crash.hasLibrary {
      own.append(try await Self.buildLibrary(in: directory))
      environment["LD_PRELOAD"] = own[1]
    }
    let child = try await ChildProcess.run(
      victim.executable,
      [crash.kind, "--database", victim.database, "--on", crash.place.rawValue, "--threads", "2"],
      in: try victim.directory("handled"), environment: environment)
    #expect(child.end.signal != nil)
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    let snapshot = try Victim.snapshot(of: report)

    let store = try await Self.symbols(of: own, in: directory)
    let others = snapshot.modules.map(\.path).filter {
      !own.contains($0) && FileManager.default.fileExists(atPath: $0)
    }
    let threads = try await BreakpadProcessor.threads(
      of: report.path, texts: Array(store.values), binaries: others, in: directory)
    #expect(threads.map(\.id).sorted() == snapshot.threads.map(\.id).sorted())

    let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
    var count = 0
    var inlined = 0
    for thread in snapshot.threads {
      let ours = Self.places(of: walker.frames(of: thread, limit: 1_000), snapshot, own)
      let theirs = try #require(threads.first { $0.id == thread.id })
      let trusts = Set(
        theirs.frames.filter { Self.module(of: $0.instruction, snapshot, own) != nil }
          .map(\.trust))
      #expect(trusts.isSubset(of: ["context", "cfi"]), "\(trusts)")
      let read = try await Self.places(of: theirs, snapshot, own, store, directory)
      #expect(read == ours, "thread \(thread.id)")
      count += ours.count
      inlined += ours.reduce(0) { $0 + $1.calls.count - 1 }
    }
    print("\(crash), \(configuration): \(count) frames, \(inlined) inlined calls")
    #expect(count >= 4)
    if crash.hasLibrary { #expect(inlined >= 3) }
  }

  // MARK: - Making

  private static func buildLibrary(in directory: String) async throws -> String {
    try library.write(toFile: directory + "/frameless.c", atomically: false, encoding: .utf8)
    let path = directory + "/libframeless.so"
    let child = try await ChildProcess.run(
      "/usr/bin/env",
      [
        "clang", "-O2", "-g", "-fomit-frame-pointer", "-fPIC", "-shared", "-Wl,--build-id",
        "frameless.c", "-o", path,
      ], in: directory)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return path
  }

  /// Runs `postmortem symbols`.
  ///
  /// - Returns: the text of each binary, by its path.
  static func symbols(
    of binaries: [String], in directory: String
  ) async throws -> [String: String] {
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let child = try await ChildProcess.run(
      tool, ["symbols"] + binaries + ["-o", directory + "/store", "--json"], in: directory)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    #expect(child.standardError == "")
    struct Entry: Decodable { let binary, breakpadFile: String }
    let entries = try JSONDecoder().decode([Entry].self, from: Data(child.standardOutput.utf8))
    return Dictionary(uniqueKeysWithValues: entries.map { ($0.binary, $0.breakpadFile) })
  }

  // MARK: - Comparing

  private static func module(
    of address: UInt64, _ snapshot: ProcessSnapshot, _ own: [String]
  ) -> ModuleSnapshot? {
    snapshot.module(containing: Address(address)).flatMap { own.contains($0.path) ? $0 : nil }
  }

  /// Our frames in modules that have symbols.
  ///
  /// A frame that stands for a tail call is left out, because Breakpad has none.
  private static func places(
    of frames: [StackFrame], _ snapshot: ProcessSnapshot, _ own: [String]
  ) -> [Place] {
    var places: [Place] = []
    var calls: [BreakpadProcessor.Call] = []
    for frame in frames where frame.trust != .tailCall {
      calls.append(
        BreakpadProcessor.Call(
          function: frame.symbol?.name ?? "",
          file: frame.sourceLocation?.file ?? "",
          line: frame.sourceLocation?.line ?? 0))
      if frame.isInlined { continue }
      let address = frame.lookupAddress.value
      if module(of: address, snapshot, own) != nil {
        places.append(Place(address: address, calls: calls.comparable()))
      }
      calls = []
    }
    return places
  }

  /// The same for Breakpad's frames, with the names from its text.
  private static func places(
    of thread: BreakpadProcessor.Thread, _ snapshot: ProcessSnapshot, _ own: [String],
    _ store: [String: String], _ directory: String
  ) async throws -> [Place] {
    var places = thread.frames.map(\.instruction).filter { module(of: $0, snapshot, own) != nil }
      .map { Place(address: $0, calls: []) }
    for path in own {
      guard let text = store[path] else { continue }
      let indices = places.indices.filter {
        module(of: places[$0].address, snapshot, own)?.path == path
      }
      let addresses = indices.compactMap { index in
        module(of: places[index].address, snapshot, own).map {
          places[index].address &- $0.address.value
        }
      }
      guard !addresses.isEmpty else { continue }
      let calls = try await BreakpadProcessor.calls(
        at: addresses, in: text, withInlines: true, directory: directory)
      for (index, calls) in zip(indices, calls) {
        places[index].calls = calls.comparable()
      }
      // The processor's own reader knows only the outermost function.
      let outer = try await BreakpadProcessor.calls(
        at: addresses, in: text, withInlines: false, directory: directory)
      #expect(outer.map(\.last?.function) == calls.map(\.last?.function))
    }
    return places
  }
}
