import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import PendingDumps
import ProcessSnapshot
import Testing

/// What every way to die says of itself: the message, where the runtime or libc had one, and the cause.
@Suite("Messages and causes")
struct CauseTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let crash: String
    /// A part of the message; nil for none.
    var message: String?
    let kind: String
    var certainty = "certain"
    /// A part of one of the facts.
    let evidence: String
    /// Whether names from the executable are asked for, which takes a second.
    var isNamed = false
    var place = CrashPlace.main
    var testDescription: String { crash }
  }

  static let memory = [
    Row(crash: "null-read", kind: "null-dereference", evidence: "si_addr 0x0"),
    Row(crash: "null-write", kind: "null-dereference", evidence: "write"),
    Row(crash: "null-call", kind: "null-call", evidence: "execute"),
    Row(crash: "wild-pointer", kind: "unmapped-memory", evidence: "no mapping"),
    Row(
      crash: "non-canonical", kind: "general-protection", certainty: "likely",
      evidence: "rax 0xdeadbeefdeadbeef"),
    Row(crash: "execute-data", kind: "executed-data", evidence: "rw-"),
    Row(crash: "write-to-code", kind: "protected-memory", evidence: "r-x"),
    Row(crash: "freed-page", kind: "unmapped-memory", evidence: "read"),
    Row(crash: "prot-none", kind: "protected-memory", evidence: "---"),
    Row(
      crash: "truncated-file", kind: "truncated-file", certainty: "likely", evidence: "BUS_ADRERR"),
    Row(crash: "misaligned", kind: "misaligned-access", evidence: "BUS_ADRALN"),
    Row(crash: "divide-by-zero", kind: "division-by-zero", evidence: "FPE_INTDIV"),
    Row(crash: "illegal-instruction", kind: "trap-instruction", evidence: "ud2"),
    Row(crash: "builtin-trap", kind: "trap-instruction", evidence: "ud2"),
    Row(crash: "breakpoint", kind: "breakpoint", evidence: "int3"),
    Row(crash: "deep", kind: "null-dereference", evidence: "write"),
    Row(crash: "stack-overflow", kind: "stack-overflow", evidence: "RLIMIT_STACK"),
    Row(
      crash: "stack-overflow", kind: "stack-overflow", evidence: "stack pointer", place: .pthread),
    Row(crash: "huge-frame", kind: "stack-overflow", evidence: "RLIMIT_STACK"),
    Row(crash: "alloca", kind: "stack-overflow", evidence: "RLIMIT_STACK"),
  ]

  static let runtimes = [
    Row(crash: "abort", kind: "abort", evidence: "SI_TKILL", isNamed: true),
    Row(
      crash: "assert", message: "crash_assert(void): Assertion `crashes == 0' failed.",
      kind: "c-assertion", evidence: "message of the C library"),
    Row(
      crash: "double-free", message: "free(): double free detected in tcache 2",
      kind: "heap-corruption", evidence: "message of the C library"),
    Row(
      crash: "stack-smash", message: "*** stack smashing detected ***", kind: "stack-smashing",
      evidence: "message of the C library"),
    Row(
      crash: "cxx-exception",
      message: "Uncaught C++ exception of type std::runtime_error: nobody catches this either",
      kind: "cxx-exception", evidence: "std::terminate() is on the stack", isNamed: true),
    Row(
      crash: "cxx-noexcept",
      message: "type (anonymous namespace)::ImportError: line 3 has no comma",
      kind: "cxx-exception", evidence: "std::terminate() is on the stack", isNamed: true),
    Row(crash: "pure-virtual", kind: "pure-virtual-call", evidence: "pure", isNamed: true),
    Row(
      crash: "fatal-error", message: "Fatal error: crash-lab says goodbye",
      kind: "swift-fatal-error", evidence: "message of the Swift runtime"),
    Row(
      crash: "precondition", message: "Precondition failed: crash-lab wants a two",
      kind: "swift-precondition", evidence: "message of the Swift runtime"),
    Row(
      crash: "unwrap-nil", message: "Unexpectedly found nil", kind: "swift-unwrapped-nil",
      evidence: "message of the Swift runtime"),
    Row(
      crash: "index-out-of-range", message: "Index out of range",
      kind: "swift-index-out-of-range", evidence: "message of the Swift runtime"),
    Row(
      crash: "integer-overflow", kind: "swift-integer-overflow", certainty: "inferred",
      evidence: "arithmetic overflow", isNamed: true),
    Row(
      crash: "forced-cast", message: "Could not cast value of type 'Swift.String'",
      kind: "swift-failed-cast", evidence: "message of the Swift runtime"),
    Row(
      crash: "unowned-after-free", message: "Attempted to read an unowned reference",
      kind: "swift-unowned-after-free", evidence: "message of the Swift runtime"),
    Row(
      crash: "exclusivity", message: "Fatal access conflict detected.", kind: "swift-exclusivity",
      evidence: "message of the Swift runtime"),
    Row(
      crash: "try-bang", message: "nobody catches this", kind: "swift-uncaught-error",
      evidence: "message of the Swift runtime"),
    Row(
      crash: "uncaught-error", message: "Error raised at top level", kind: "swift-uncaught-error",
      evidence: "message of the Swift runtime"),
    Row(
      crash: "main-actor", kind: "swift-actor-isolation", certainty: "inferred",
      evidence: "_dispatch_assert_queue_fail", isNamed: true, place: .task),
    Row(
      crash: "continuation", message: "tried to resume its continuation more than once",
      kind: "swift-continuation", evidence: "message of the Swift runtime", place: .task),
    Row(
      crash: "allocation-failure", message: "Fatal error: failed to allocate 70368744177664 bytes",
      kind: "out-of-memory", evidence: "message of the Swift runtime"),
    Row(crash: "await-chain", kind: "null-dereference", evidence: "write", place: .task),
  ]

  static let fromOutside = [
    Row(crash: "seccomp", kind: "forbidden-system-call", evidence: "si_syscall 163"),
    Row(crash: "cpu-limit", kind: "cpu-limit", evidence: "CPU time used"),
    Row(crash: "file-size-limit", kind: "file-size-limit", evidence: "SIGXFSZ"),
    Row(crash: "pipe", kind: "broken-pipe", evidence: "SIGPIPE"),
    Row(crash: "sent-segv", kind: "sent-signal", evidence: "si_pid"),
    Row(crash: "sent-abort", kind: "sent-signal", evidence: "main thread"),
    Row(crash: "sent-quit", kind: "sent-signal", evidence: "si_uid"),
  ]

  @Test("Every kind says its message and its cause", arguments: memory + runtimes + fromOutside)
  func kinds(_ row: Row) async throws {
    let report = try await Self.report(
      row.crash, on: row.place, isNamed: row.isNamed || row.message != nil,
      configuration: .asTested)
    if let message = row.message {
      #expect(report.message?.contains(message) == true, "\(report.message ?? "none")")
    } else {
      #expect(report.message == nil)
    }
    let cause = try #require(report.cause, "\(report.explanation ?? "none")")
    #expect(cause.kind == row.kind)
    #expect(cause.certainty.rawValue == row.certainty)
    #expect(cause.evidence.contains { $0.text.contains(row.evidence) }, "\(cause.evidence)")
    #expect(report.explanation?.isEmpty == false)
  }

  @Test("No kind is missing")
  func complete() {
    let rows = Set((Self.memory + Self.runtimes + Self.fromOutside).map(\.crash))
    #expect(rows == Set(KnownCrash.all.map(\.kind)))
  }

  @Test(
    "Optimised, the checks that leave no text are told from debug information",
    arguments: [
      ("precondition", "swift-precondition"), ("unwrap-nil", "swift-unwrapped-nil"),
      ("index-out-of-range", "swift-index-out-of-range"),
      ("integer-overflow", "swift-integer-overflow"),
    ])
  func optimised(_ crash: String, _ kind: String) async throws {
    let report = try await Self.report(crash, on: .main, isNamed: true, configuration: .release)
    #expect(report.message == nil)
    #expect(report.cause?.kind == kind, "\(report.explanation ?? "none")")
    #expect(report.cause?.certainty == .inferred)
  }

  @Test("A sender is named, and the main thread's rest is seen")
  func sender() async throws {
    let report = try await Self.report(
      "sent-abort", on: .main, isNamed: false, configuration: .asTested)
    #expect(report.snapshot.exception?.senderName == "crash-lab")
    let text = try #require(report.explanation)
    #expect(text.contains("(crash-lab) of user"))
    // It waits for the child that sends the signal.
    #expect(text.contains("The main thread was idle, in wait4."), "\(text)")
  }

  @Test("A service manager's SIGABRT is taken for its watchdog's, where it watches")
  func watchdog() async throws {
    let victim = try await Victim(.asTested)
    // Its name is all that tells the service manager; the child that sends the signal has it too.
    let manager = try victim.directory("manager") + "/systemd"
    try FileManager.default.createSymbolicLink(
      atPath: manager, withDestinationPath: victim.executable)
    for interval in ["30000000", ""] {
      let database = try victim.directory("watched\(interval)") + "/database"
      let child = try await ChildProcess.run(
        manager, ["sent-abort", "--database", database], in: try victim.directory("handled"),
        environment: ["SWIFT_BACKTRACE": "enable=no", "WATCHDOG_USEC": interval])
      #expect(child.end.signal == SIGABRT)
      let report = try Self.report(inDatabase: database, isNamed: false)
      #expect(report.cause?.kind == (interval.isEmpty ? "sent-signal" : "watchdog"))
      guard !interval.isEmpty else { continue }
      #expect(report.cause?.certainty == .likely)
      let text = try #require(report.explanation)
      #expect(text.contains("no sign of life for 30 s (WatchdogSec)"), "\(text)")
      #expect(text.contains("(systemd) of user"), "\(text)")
    }
  }

  static func report(
    _ crash: String, on place: CrashPlace, isNamed: Bool, configuration: BuildConfiguration
  ) async throws -> CrashReport {
    let victim = try await Victim(configuration)
    _ = try await victim.die(crash, on: place)
    return try report(inDatabase: victim.database, isNamed: isNamed)
  }

  private static func report(inDatabase database: String, isNamed: Bool) throws -> CrashReport {
    var snapshot = try snapshot(inDatabase: database)
    // Stacks of the others cost time and say nothing here.
    let kept = [snapshot.exception?.threadID, snapshot.process.processID]
    snapshot.threads.removeAll { !kept.contains($0.id) }
    return CrashReport(snapshot: snapshot, symbolicating: isNamed)
  }

  /// Of the one dump that is pending.
  static func snapshot(inDatabase database: String) throws -> ProcessSnapshot {
    let directory = database + "/" + PendingDumpName.directory
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter {
      !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") && !$0.hasSuffix(".locked")
    }
    try #require(names.count == 1, "\(names)")
    return try Victim.snapshot(ofDump: directory + "/" + names[0])
  }
}
