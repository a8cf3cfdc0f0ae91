import CrashTestSupport
import Foundation
import Testing

/// The violations that the audit finds in a small C program, in which each function on the crash path breaks one
/// rule.
@Suite struct PlantedProgramTests {
  private static let source = """
    #include <stdlib.h>
    #include <string.h>
    __thread int counter;
    void (*volatile pointer)(void);
    volatile size_t size = 8;
    char bytes[64];
    __attribute__((noinline)) void pm_harmless(void) { bytes[0]++; }
    __attribute__((noinline)) void pm_allocates(void) { free(malloc(size)); }
    __attribute__((noinline)) void pm_thread_local(void) { counter++; }
    __attribute__((noinline)) void pm_indirect(void) { pointer(); bytes[1]++; }
    __attribute__((noinline)) void pm_binds(void) { memset(bytes, 1, size); bytes[2]++; }
    __attribute__((noinline)) void pm_bind_now(void) { memcpy(bytes, bytes + 32, size); bytes[3]++; }
    __attribute__((noinline)) void pm_chooses(void) {
      switch (size) {
        case 0: bytes[5]++; break;
        case 1: bytes[6] ^= 3; break;
        case 2: pm_harmless(); break;
        case 3: bytes[7] -= bytes[8]; break;
        case 4: bytes[9] *= 5; break;
        case 5: bytes[10] = bytes[11] | 2; break;
        case 6: pm_harmless(), bytes[12]++; break;
      }
      bytes[13]++;
    }
    __attribute__((noinline)) void pm_outer(void) {
      pm_harmless(), pm_allocates(), pm_thread_local(), pm_indirect(), pm_binds(), pm_bind_now();
      bytes[4]++;
    }
    int main(void) { return pm_outer(), pm_chooses(), 0; }
    """

  private static func audit(from root: String) async throws -> CallGraphAudit {
    try await audit(source, from: root, in: try TemporaryDirectory())
  }

  private static func audit(
    _ source: String, from root: String, in directory: borrowing TemporaryDirectory
  ) async throws -> CallGraphAudit {
    let (text, program) = (directory.path + "/planted.c", directory.path + "/planted")
    try source.write(toFile: text, atomically: true, encoding: .utf8)
    let compiler = try await ChildProcess.run(
      try Toolchain.path(of: "clang"),
      ["-g", "-O1", "-fno-builtin", "-fPIE", "-pie", text, "-o", program],
      in: directory.path)
    guard compiler.end.exitCode == 0 else { throw OutsideToolError(compiler.standardError) }
    var audit = CallGraphAudit(try Disassembly(of: program), allowed: try .kept())
    try audit.walk(from: [root])
    return audit
  }

  @Test func eachRuleThatIsBrokenIsFoundWhereItIs() async throws {
    let audit = try await Self.audit(from: "pm_outer")
    let found = audit.violations.map { "\($0.function) \($0.what.prefix { $0 != ":" })" }
    #expect(
      Set(found) == [
        "pm_allocates calls malloc", "pm_allocates calls free", "pm_thread_local thread-local",
        "pm_indirect indirect", "pm_binds binds memset in a crash",
      ])
    #expect(audit.reached.count == 7)
  }

  @Test func whatBreaksNoRuleIsLeftAlone() async throws {
    #expect(try await Self.audit(from: "pm_harmless").violations.isEmpty)
    #expect(try await Self.audit(from: "pm_bind_now").violations.isEmpty)
  }

  @Test func theTableOfASwitchIsNoCallThroughARegisterAndWhatItsCasesCallIsFound() async throws {
    let audit = try await Self.audit(from: "pm_chooses")
    #expect(audit.violations.isEmpty, "\(audit.violations)")
    #expect(audit.reached.contains("pm_harmless"))
  }

  @Test func aRootThatIsNotThereIsFound() async throws {
    let audit = try await Self.audit(from: "pm_nowhere")
    #expect(audit.violations.map(\.what) == ["is not in the program"])
  }

  @Test func aLineThatIsAddedToAReachedFunctionIsAboveTheBudgetAndOneInAnotherIsNot() async throws {
    func lines(reached: String, other: String) async throws -> CodeLines {
      let source = """
        volatile char bytes[64];
        static inline __attribute__((always_inline)) void inlined(void) {
          // A comment.
          bytes[0]++;

          bytes[1]++;
        }
        __attribute__((noinline)) void pm_other(void) {
          bytes[2]++;
          \(other)
          bytes[3]++;
        }
        __attribute__((noinline)) void pm_reached(void) {
          bytes[4]++;
          \(reached)
          inlined();
        }
        int main(void) { return pm_reached(), pm_other(), 0; }
        """
      let directory = try TemporaryDirectory()
      let audit = try await Self.audit(source, from: "pm_reached", in: directory)
      let extents = try audit.disassembly.extents(at: audit.addresses)
      return try CodeLines(of: extents, in: "", root: directory.path)
    }
    // The lines of `inlined` and of `pm_reached`, without empty lines, comments and the last brace of `inlined`.
    let base = try await lines(reached: "", other: "")
    #expect(base.counts == ["planted.c": 7])
    #expect(base.excess(over: 7) == nil)
    #expect(try await lines(reached: "", other: "bytes[5]++;").excess(over: 7) == nil)
    let excess = try await lines(reached: "bytes[5]++;", other: "").excess(over: 7)
    #expect(
      excess == """
        8 code lines, 1 more than 7
        the largest files:
          8 planted.c
        the largest functions:
          5 planted.c:13 pm_reached
          3 planted.c:2 inlined

        """)
  }
}
