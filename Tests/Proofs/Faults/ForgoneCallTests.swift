import CrashAnalysis
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

/// Real seccomp filters deny the handler the calls that it can do without.
@Suite struct ForgoneCallTests {
  /// The system calls of one option, by crash-lab's name for them.
  struct Group: Sendable, CustomTestStringConvertible {
    let name: String
    let calls: Set<String>
    var testDescription: String { name }

    private static let proc: Set<String> = [
      "read", "getdents64", "readlinkat", "pread64", "getppid", "getrusage", "clock_gettime",
    ]

    static let all: [Group] = [
      Group(
        name: "files",
        calls: proc.union([
          "openat", "close", "close_range", "fstat", "newfstatat", "lseek", "ftruncate",
          "fallocate", "mknodat", "mkdirat", "renameat2", "unlinkat", "fchown", "fcntl",
          "pwrite64", "getrandom", "unshare", "prlimit64", "mmap", "madvise", "munmap",
        ])),
      Group(name: "proc", calls: proc),
      Group(
        name: "threads",
        calls: ["tgkill", "sigaltstack", "timer_create", "timer_settime", "timer_delete"]),
      Group(name: "memory", calls: ["process_vm_readv"]),
    ]
  }

  /// Kinds that crash by a fault: a fault makes no system call, so the filter affects the handler only.
  private static let kinds = ["null-read", "divide-by-zero"]

  private func die(
    _ kind: String, under condition: String, more: [String],
    in directory: borrowing TemporaryDirectory
  ) async throws -> ChildEnd {
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      victim, [kind, "--threads", "3", "--condition", condition] + more,
      in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    return child.end
  }

  @Test(arguments: kinds, Group.all)
  func forgoneAFilterThatKillsOnThemChangesNothing(_ kind: String, _ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let condition = group.name + "-killed"
    let alone = try await die(kind, under: condition, more: ["--no-handler"], in: directory)
    #expect(alone.signal == (kind == "null-read" ? 11 : 8))
    let database = directory.path + "/database"
    let handled = try await die(
      kind, under: condition, more: ["--database", database, "--forgo", group.name], in: directory)
    #expect(handled == alone)
    try await checkOneReport(database)
  }

  @Test(arguments: Group.all)
  func notForgoneItDoes(_ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let end = try await die(
      "null-read", under: group.name + "-killed",
      more: ["--database", directory.path + "/database"],
      in: directory)
    #expect(end.signal == 31)
  }

  /// When the handler notes such a signal or a voluntary exit, it makes system calls too.
  @Test(
    arguments: ["terminated", "exit"],
    Group.all)
  func forgoneTheyAreNotMadeForAnEndWithoutACrash(_ kind: String, _ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let condition = group.name + "-killed"
    let alone = try await die(kind, under: condition, more: ["--no-handler"], in: directory)
    let handled = try await die(
      kind, under: condition,
      more: ["--database", directory.path + "/database", "--forgo", group.name], in: directory)
    #expect(handled == alone)
  }

  @Test(arguments: Group.all)
  func forgoneAGroupTakesItsPartOfTheReportAndNoOther(_ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let end = try await die(
      "null-read", under: group.name + "-killed",
      more: ["--database", database, "--forgo", group.name],
      in: directory)
    #expect(end.signal == 11)
    let reports = try ReportDirectory(database)
    let snapshot = try #require(reports.snapshots.first)
    let readsProc = group.name == "threads" || group.name == "memory"
    #expect((snapshot.threads.count == 4) == readsProc)
    #expect((snapshot.process.crashTime != nil) == readsProc)
    let others = snapshot.threads.dropFirst()
    #expect(others.allSatisfy { ($0.captureMethod == .stopped) == (group.name != "threads") })
    #expect(snapshot.threads.allSatisfy { !$0.stack.isEmpty })
  }

  #if arch(x86_64)
    @Test(arguments: Group.all)
    func whatIsForgoneIsNotCalled(_ group: Group) async throws {
      let run = try await InjectedRun(
        Scene(kind: "abort", more: ["--forgo", group.name]), .none)
      let names = Set(run.report.calls.compactMap { SystemCallNames.name($0.number) })
      #expect(!names.isEmpty && names.isDisjoint(with: group.calls))
      #expect(run.report.end.signal == 6)
      #expect(run.hasCompleteReport)
      // Simulates a converter that takes the process for dead and removes its files: the handler copies the dump
      // if it may make the necessary calls.
      let removal = Disturbance.command(
        .crashing, run.report.count(.crashing) / 2, "rm -f DATABASE/pending-serialized-dumps/*")
      let removed = try await InjectedRun(
        Scene(kind: "abort", more: ["--forgo", group.name]), removal)
      let later = Set(removed.report.calls.compactMap { SystemCallNames.name($0.number) })
      #expect(removed.report.commands == 1 && later.isDisjoint(with: group.calls))
      #expect(removed.report.end.signal == 6)
    }
  #endif

  /// Tests all calls that can be forgone at once, and the call without which the kernel ends the process.
  @Test(
    arguments: kinds,
    ["calls-not-permitted", "calls-not-implemented", "actions-not-permitted"])
  func refusedTheyChangeNoEnd(_ kind: String, _ condition: String) async throws {
    let directory = try TemporaryDirectory()
    let alone = try await die(kind, under: condition, more: ["--no-handler"], in: directory)
    let database = directory.path + "/database"
    let handled = try await die(
      kind, under: condition, more: ["--database", database], in: directory)
    #expect(handled == alone)
    try await checkOneReport(database)
  }

  private func checkOneReport(_ database: String) async throws {
    let processed = try ReportDirectory(database)
    #expect(processed.hasOneCompleteReport, "\(processed)")
  }
}
