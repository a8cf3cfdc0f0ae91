import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Callers that left the stack by a tail call, compared with gdb if the debug information describes the tail
/// calls.
///
/// A preloaded library replaces `abort`, which crash-lab calls.
@Suite(.serialized)
struct TailCallTests {
  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    /// The functions from the crash outwards.
    let functions: [String]
    var testDescription: String { name }
  }

  static let ways = [
    Way(name: "chain", functions: ["crash", "b", "a", "chain"]),
    // Either of two functions may have been between these, so neither is shown.
    Way(name: "two", functions: ["crash", "last", "entry", "two"]),
    Way(name: "self", functions: ["crash", "count", "self"]),
    // One of the possible ways leads through a function pointer, so no function is shown.
    Way(name: "pointer", functions: ["crash", "pointer"]),
    Way(name: "none", functions: ["crash", "none"]),
  ]

  private static let source = """
    #include <stdlib.h>
    #include <string.h>
    #ifdef __clang__
    #define FUNCTION static __attribute__((noinline))
    #else
    #define FUNCTION static __attribute__((noipa))
    #endif
    int *volatile base;
    FUNCTION int crash(int *p) { *(volatile int *)p = 3; return *(volatile int *)(p + 1); }
    FUNCTION int b(int *p) { return crash(p + 1); }
    FUNCTION int a(int *p) { return b(p + 2); }
    FUNCTION int chain(int *p) { return a(p) + 2; }
    FUNCTION int last(int *p) { return crash(p + 3); }
    FUNCTION int left(int *p) { return last(p + 4); }
    FUNCTION int right(int *p) { return last(p + 5); }
    FUNCTION int choose(int *p) { return p == base ? left(p) : right(p); }
    FUNCTION int entry(int *p) { return choose(p + 6); }
    FUNCTION int two(int *p) { return entry(p) + 2; }
    FUNCTION int count(int *p, int n) { return n ? count(p + *(volatile int *)&n, n - 1) : crash(p); }
    FUNCTION int self(int *p) { return count(p, 5) + 2; }
    int (*volatile indirect)(int *) = chain;
    FUNCTION int maybe(int *p) { return p != base ? indirect(p) : crash(p); }
    FUNCTION int pointer(int *p) { return maybe(p) + 2; }
    FUNCTION int none(int *p) { return crash(p) + 2; }
    __attribute__((noreturn)) void abort(void) {
      const char *way = getenv("TAIL_CALLS");
      if (strcmp(way, "chain") == 0) exit(chain(base));
      if (strcmp(way, "two") == 0) exit(two(base));
      if (strcmp(way, "self") == 0) exit(self(base));
      if (strcmp(way, "pointer") == 0) exit(pointer(base));
      exit(none(base));
    }
    """

  @Test(.needs(.gdb), arguments: ways, ["clang", "gcc"])
  func ofCGdbsFrames(_ way: Way, _ compiler: String) async throws {
    let directory = try TemporaryDirectory()
    let library = directory.path + "/libtail.so"
    try Self.source.write(
      toFile: directory.path + "/tail.c", atomically: false, encoding: .utf8)
    try await Self.build(
      // gdb 13 cannot read the tail call information that clang writes into DWARF 5.
      [compiler, "-O2", "-gdwarf-4", "-ggdb", "-fPIC", "-shared", "tail.c", "-o", library],
      in: directory.path)
    let (snapshot, victim) = try await Self.crash(library, way.name)
    let ours = try Self.frames(of: snapshot, in: library)
    // clang compiles count() with two jumps to crash(), so it is not known which one was taken.
    let isTwofold = way.name == "self" && compiler == "clang"
    let expected = isTwofold ? ["crash", "self"] : way.functions
    #expect(ours.prefix(expected.count).map(\.symbol?.linkageName) == expected)
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(way): not compared with gdb: \(obstacle)")
      return
    }
    let gdb = try await GDB.view(
      core: try CoreFile.path(in: try victim.directory("handled")), of: victim.executable,
      directory: try victim.directory("gdb"))
    let id = try #require(gdb.crashedThread)
    let theirs = (gdb.stacksWithTailCalls[id] ?? []).filter { frame in
      snapshot.module(containing: Address(frame.address) &- 1)?.path == library
    }
    #expect(ours.map(\.address.value) == theirs.map(\.address), "\(gdb.transcript)")
    #expect(ours.map(\.symbol?.linkageName) == theirs.map(\.function))
  }

  @Test func ofSwiftOptimisedGdbHasNone() async throws {
    let directory = try TemporaryDirectory()
    let library = directory.path + "/libTail.so"
    try """
    import Glibc
    @inline(never) func crash(_ n: Int) -> Int { UnsafePointer<Int>(bitPattern: n)!.pointee &+ 1 }
    @inline(never) func first(_ n: Int) -> Int { crash(n &* 8 &+ 8) }
    @inline(never) func second(_ n: Int) -> Int { first(n &+ 3) }
    @inline(never) func outer(_ n: Int) -> Int { second(n) &+ 2 }
    @_cdecl("abort") public func stop() -> Never { exit(Int32(truncatingIfNeeded: outer(Int(getppid() & 1)))) }
    """.write(toFile: directory.path + "/Tail.swift", atomically: false, encoding: .utf8)
    try await Self.build(
      ["swiftc", "-O", "-g", "-parse-as-library", "-emit-library", "Tail.swift", "-o", library],
      in: directory.path)
    let (snapshot, _) = try await Self.crash(library, "")
    let frames = try Self.frames(of: snapshot, in: library)
    #expect(
      frames.prefix(4).map(\.symbol?.name) == [
        "Tail.crash(Swift.Int) -> Swift.Int", "Tail.first(Swift.Int) -> Swift.Int",
        "Tail.second(Swift.Int) -> Swift.Int", "Tail.outer(Swift.Int) -> Swift.Int",
      ])
    #expect(frames.prefix(4).map { $0.trust == .tailCall } == [false, true, true, false])
    #expect(
      frames.prefix(4).allSatisfy { $0.sourceLocation?.file.hasSuffix("/Tail.swift") == true })
    let entries = try await ChildProcess.run(
      "/bin/sh",
      ["-c", "objdump --dwarf=info \(library) | grep -cE 'call_site|call_all|GNU_call'"],
      in: directory.path)
    // A count other than 0 means that gdb can use the debug information now.
    #expect(entries.standardOutput == "0\n")
  }

  private static func build(_ words: [String], in directory: String) async throws {
    let child = try await ChildProcess.run("/usr/bin/env", words, in: directory)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
  }

  private static func crash(
    _ library: String, _ way: String
  ) async throws -> (ProcessSnapshot, Victim) {
    let victim = try await Victim(.asTested)
    let child = try await ChildProcess.run(
      victim.executable, ["abort", "--database", victim.database],
      in: try victim.directory("handled"),
      environment: ["SWIFT_BACKTRACE": "enable=no", "LD_PRELOAD": library, "TAIL_CALLS": way],
      coreFile: .allowed)
    try #require(child.end.signal == SIGSEGV, "\(child.end) \(child.standardError)")
    _ = try await victim.process()
    return (try Victim.snapshot(of: try #require(try victim.reports().first)), victim)
  }

  /// The crashing thread's frames in a module, without inlined calls.
  private static func frames(
    of snapshot: ProcessSnapshot, in path: String
  ) throws -> [StackFrame] {
    let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
    let frames = walker.frames(of: try #require(snapshot.crashedThread), limit: 2_000)
    return frames.filter { frame in
      !frame.isInlined && frame.moduleIndex.map { snapshot.modules[$0].path } == path
    }
  }
}
