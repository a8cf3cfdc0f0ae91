import CrashHandler
import CrashTestSupport
import Foundation
import Testing

/// The functions that the linked program can call on the crash path, in debug and release builds, with Swift's
/// libraries linked dynamically and statically.
@Suite struct CallGraphTests {
  /// Every function that the kernel enters, or that is called through a pointer.
  static func roots(in disassembly: Disassembly) -> [String] {
    let entries = [
      "pm_enter_crash", "pm_run_crash_entry", "pm_run_stop_entry", "pm_run_watchdog_entry",
      "pm_run_termination_entry", "pm_run_entry",
      "pm_handle_crash", "pm_handle_stop", "pm_handle_watchdog", "pm_handle_fork",
      "pm_handle_termination", "pm_note_process_end", "pm_continue_run",
      "pm_capture_crash", "pm_capture_dump", "pm_copy_guarded",
    ]
    let sections = Section.allCases.map(\.symbol)
    let others = disassembly.symbols.filter {
      // These functions are not sections; they run before and after the sections.
      $0.hasPrefix("pm_write_") && !sections.contains($0)
        // These functions, unless they are inlined, call the program's handlers.
        || $0 == "pm_run_previous_handler" || $0 == "pm_run_first_chance_handler"
    }
    // Without optimization, the wrappers of system calls, such as pm_write, are functions with symbols.
    return entries + sections + others.filter { $0 != "pm_write" }.sorted()
  }

  /// The audit of each build, walked once.
  private static let audits = Dictionary(
    uniqueKeysWithValues: BuildConfiguration.allCases.map { configuration in
      let audit = Task {
        let program = try await BuiltProducts.shared.executable("crash-lab", configuration)
        let disassembly = try Disassembly(of: program)
        var audit = CallGraphAudit(disassembly, allowed: try .kept())
        try audit.walk(from: roots(in: disassembly))
        return audit
      }
      return (configuration, audit)
    })

  private static func audit(_ configuration: BuildConfiguration) async throws -> CallGraphAudit {
    try await #require(audits[configuration]).value
  }

  @Test(arguments: BuildConfiguration.allCases)
  func everyReachableCallIsOursOrAllowed(_ configuration: BuildConfiguration) async throws {
    let audit = try await Self.audit(configuration)
    let symbols = audit.disassembly.symbols
    #expect(Section.allCases.allSatisfy { symbols.contains($0.symbol) })
    #expect(audit.violations.isEmpty, "\(audit.violations.map(\.description).sorted())")
    #expect(audit.reached.count > 30)
  }

  /// The upper bound of the lines of code in functions that a handler can reach: the current count (decision 31).
  private static let budget = 8_049

  @Test func theCrashPathKeepsItsBudgetOfCodeLines() async throws {
    let audit = try await Self.audit(.asTested)
    let lines = try CodeLines(of: audit.disassembly.extents(at: audit.addresses))
    for (file, count) in lines.counts.sorted(by: { $0.key < $1.key }) {
      print("crash path: \(count) \(file)")
    }
    print("crash path: \(lines.total) code lines in \(lines.counts.count) files")
    #expect(lines.counts["Sources/CrashHandler/Signals/CrashEntry.swift"] != nil)
    let excess = lines.excess(over: Self.budget)
    #expect(excess == nil, "\(excess ?? "")")
  }

  /// The handler reads the pages of its own code at its start, because in a crash the file may be gone.
  @Test(
    .needs(.strace),
    arguments: BuildConfiguration.allCases)
  func theStartBringsInAllCodeOfOursThatACrashCanRun(_ configuration: BuildConfiguration)
    async throws
  {
    let audit = try await Self.audit(configuration)
    let disassembly = audit.disassembly
    let directory = try TemporaryDirectory()
    let trace = directory.path + "/trace"
    let child = try await ChildProcess.run(
      try #require(OutsideTool.strace.path),
      [
        "-o", trace, "-e", "trace=madvise", "setarch", "-R", disassembly.program, "idle",
        "--database",
        directory.path + "/database",
      ], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child)")
    // The address of a position-independent program if address randomization is off.
    let base: UInt64 = 0x5555_5555_4000
    let ranges = try String(contentsOfFile: trace, encoding: .utf8)
      .matches(of: /madvise\(0x([0-9a-f]+), (\d+), MADV_POPULATE_READ\)\s+= 0/)
      .compactMap { match -> Range<UInt64>? in
        guard let start = UInt64(match.1, radix: 16), let size = UInt64(match.2) else { return nil }
        return start..<start + size
      }
    #expect(ranges.count >= 2)
    let missing = audit.reached.filter { name in
      guard CallGraphAudit.isOwn(name), let place = disassembly.place(of: name) else {
        return false
      }
      let start = base + place.start
      return !ranges.contains { $0.contains(start) && $0.contains(start + max(place.size, 1) - 1) }
    }
    #expect(missing.isEmpty, "\(missing.sorted())")
  }

  @Test func linesWithoutCodeAreNotCounted() {
    let text = """
      /// A comment.
      let a = 1  // code

      /* a comment
         of two lines */
      # code
        // a comment
      """
    #expect(CodeLines.numbers(text) == [2, 6])
  }

  /// On a thread whose FS base is invalid, such an access would fault before the handler has installed another
  /// block.
  @Test(arguments: BuildConfiguration.allCases)
  func whatRunsFirstReadsNothingOfTheThread(_ configuration: BuildConfiguration) async throws {
    let program = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let names = [
      "pm_enter_crash", "pm_run_crash_entry", "pm_run_stop_entry", "pm_run_watchdog_entry",
      "pm_run_termination_entry", "pm_run_entry", "pm_take_entry_stack",
    ]
    let functions = try Disassembly(of: program).functions(names)
    #expect(functions.count == names.count)
    #expect(functions.filter { $0.value.readsControlBlock }.keys.sorted() == [])
  }

  /// `startHandler` is ordinary code in the handler's module: it allocates, and the audit must report that.
  @Test(arguments: BuildConfiguration.dynamic)
  func aViolationIsFound(_ configuration: BuildConfiguration) async throws {
    let program = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let disassembly = try Disassembly(of: program)
    var audit = CallGraphAudit(disassembly, allowed: try .kept())
    let start = try #require(
      disassembly.symbols.first { name in
        // The function itself, not one of its default arguments.
        name.hasPrefix("$s12CrashHandler05startB0") && name.hasSuffix("YKF")
      })
    try audit.walk(from: [start])
    let calls = audit.violations.filter { $0.what.contains("swift_") }
    #expect(!calls.isEmpty)
  }

  /// `pm_bind_now` calls every symbol that needs to be bound.
  ///
  /// Here the audit treats it as crash code, with a binder that calls nothing, so every symbol counts as bound
  /// late.
  @Test(arguments: BuildConfiguration.dynamic)
  func aLateBoundSymbolIsFound(_ configuration: BuildConfiguration) async throws {
    let program = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let disassembly = try Disassembly(of: program)
    var audit = CallGraphAudit(disassembly, allowed: try .kept(), binder: "pm_find_link_map")
    try audit.walk(from: ["pm_bind_now"])
    #expect(
      Set(audit.violations.map(\.what))
        == ["binds memset in a crash", "binds memcpy in a crash"])
  }

  @Test func theListHasAReasonOnEveryLine() throws {
    let allowed = try AllowedCalls.kept()
    #expect(!allowed.entries.isEmpty)
    for entry in allowed.entries { #expect(entry.reason.count > 10, "\(entry.symbol)") }
    #expect(throws: AllowedCalls.Malformed.self) { try AllowedCalls(parsing: "stop malloc") }
    #expect(throws: AllowedCalls.Malformed.self) { try AllowedCalls(parsing: "allow x y") }
  }

  @Test func theListAllowsNothingThatIsNotNeeded() async throws {
    var used: Set<String> = []
    let allowed = try AllowedCalls.kept()
    for configuration in BuildConfiguration.allCases {
      used.formUnion(try await Self.audit(configuration).used)
    }
    #expect(Set(allowed.entries.map(\.symbol)).subtracting(used).isEmpty)
  }
}
