import CrashReport
import CrashTestSupport
import Testing

/// Real seccomp filters take from the handler what it can do without.
@Suite("System calls that the handler forgoes")
struct ForgoneCallTests {
  /// System calls of one option, by crash-lab's name for them.
  struct Group: Sendable, CustomTestStringConvertible {
    let name: String
    let calls: Set<String>
    /// False if only a crash under other conditions makes them.
    var isAlwaysMade = true
    var testDescription: String { name }

    init(_ name: String, _ calls: Set<String>, isAlwaysMade: Bool = true) {
      self.name = name
      self.calls = calls
      self.isAlwaysMade = isAlwaysMade
    }

    static let all: [Group] = [
      Group("memory-reads", ["process_vm_readv"]),
      Group("thread-signals", ["tgkill"]),
      Group("timers", ["timer_create", "timer_settime"]),
      Group("file-size-limit", ["prlimit64"]),
      // Made only where /proc cannot be read.
      Group("scheduling", ["sched_getscheduler", "getpriority"], isAlwaysMade: false),
      Group("processor-time", ["getrusage"]),
      Group("parent", ["getppid"]),
      Group("clocks", ["clock_gettime"]),
      Group(
        "files",
        [
          "openat", "read", "getdents64", "close", "ftruncate", "mknodat", "fallocate", "fcntl",
          "pwrite64",
        ]),
      // Made only where the process is in a cgroup whose files can be read.
      Group("control-group", ["pread64"], isAlwaysMade: false),
      Group("file-checks", ["fstat"]),
      Group("file-position", ["lseek"], isAlwaysMade: false),
      Group("rename", ["renameat2"]),
      Group("directories", ["mkdirat"], isAlwaysMade: false),
      Group("random", ["getrandom"], isAlwaysMade: false),
      Group("fault-stack", ["sigaltstack"]),
      Group("descriptor-table", ["unshare"]),
    ]
  }

  /// Nothing but the crash itself may meet the filter: a fault makes no system call.
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

  @Test("Forgone, a filter that kills on them changes nothing", arguments: kinds, Group.all)
  func killed(_ kind: String, _ group: Group) async throws {
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

  @Test("Not forgone, it does", arguments: Group.all.filter(\.isAlwaysMade))
  func killing(_ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let end = try await die(
      "null-read", under: group.name + "-killed",
      more: ["--database", directory.path + "/database"],
      in: directory)
    #expect(end.signal == 31)
  }

  /// Notes of such a signal, and of an end by the program's own will, are calls of the handler too.
  @Test(
    "Forgone, they are not made for an end without a crash", arguments: ["terminated", "exit"],
    Group.all)
  func ended(_ kind: String, _ group: Group) async throws {
    let directory = try TemporaryDirectory()
    let condition = group.name + "-killed"
    let alone = try await die(kind, under: condition, more: ["--no-handler"], in: directory)
    let handled = try await die(
      kind, under: condition,
      more: ["--database", directory.path + "/database", "--forgo", group.name], in: directory)
    #expect(handled == alone)
  }

  #if arch(x86_64)
    @Test("What is forgone is not called", arguments: Group.all)
    func notCalled(_ group: Group) async throws {
      let run = try await InjectedRun(
        Scene(kind: "abort", more: ["--forgo", group.name]), .none)
      let names = Set(run.report.calls.compactMap { SystemCallNames.name($0.number) })
      #expect(!names.isEmpty && names.isDisjoint(with: group.calls))
      #expect(run.report.end.signal == 6)
      #expect(run.hasCompleteReport)
    }
  #endif

  /// Those that can be forgone all at once; and the one by which the end is left to the kernel.
  @Test(
    "Refused they change no end",
    arguments: kinds,
    ["calls-not-permitted", "calls-not-implemented", "actions-not-permitted"])
  func refused(_ kind: String, _ condition: String) async throws {
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
