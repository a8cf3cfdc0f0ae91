import CrashReport
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// Filters that answer one system call of the handler, and syscall user dispatch, under which no call of the thread is made.
@Suite struct TrappedCallTests {
  /// Those of Docs/Internals/SystemCalls.md.
  private static let calls: [(name: String, number: Int)] = {
    let path = BuiltProducts.packageRoot + "/Docs/Internals/SystemCalls.md"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
    let names = rows.flatMap { row in
      row.split(separator: "|")[0].split(separator: "`").map(String.init).filter {
        $0 != " " && !$0.hasPrefix(",")
      }
    }
    let numbers = Dictionary(
      (0..<600).compactMap { number in SystemCallNames.name(number).map { ($0, number) } },
      uniquingKeysWith: { first, _ in first })
    return names.compactMap { name in numbers[name].map { (name, $0) } }
  }()

  private func die(
    _ kind: String, _ condition: String, filter: String = "", _ more: [String],
    in directory: borrowing TemporaryDirectory
  ) async throws -> ChildEnd {
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      victim, [kind, "--threads", "3", "--condition", condition] + more,
      in: try directory.subdirectory("run"), environment: ["CRASHLAB_FILTER": filter],
      patience: 20)
    return child.end
  }

  @Test func theListHasAllCallsOfTheDocument() { #expect(Self.calls.count >= 43) }

  /// A trap, too, changes no end: the call is answered as one that the kernel does not have.
  @Test(arguments: Sweep.isFull ? ["trap", "error", "log"] : ["trap"], ["null-read", "seccomp"])
  func theEndIsAsAloneWithOneWholeReport(_ answer: String, _ kind: String) async throws {
    let directory = try TemporaryDirectory()
    for call in Self.calls {
      let filter = "\(answer):\(call.number)"
      let database = directory.path + "/" + call.name
      let alone = try await die(
        kind, "calls-filtered", filter: filter, ["--no-handler"], in: directory)
      // After an error, libc's code continues with the instructions that follow.
      if call.name == "rt_sigreturn" && answer == "error" { continue }
      // The crash is made by a filter, which needs one of them.
      guard alone.signal != nil else { continue }
      let handled = try await die(
        kind, "calls-filtered", filter: filter, ["--database", database], in: directory)
      // A trap of the program's own cannot come again.
      if call.name == "rt_sigaction" && kind == "seccomp" && answer != "log" {
        #expect(handled.exitCode == 159, "\(call.name)")
      } else {
        #expect(handled == alone, "\(call.name)")
      }
      let processed = try ReportDirectory(database)
      #expect(processed.snapshots.count <= 1, "\(call.name): \(processed)")
      // SIGSYS is blocked in its handler until this call has opened it.
      let isEnd = call.name == "rt_sigprocmask" && kind == "seccomp" && answer == "trap"
      // Each tick of the time bound comes back by it, and breaks off what it has interrupted.
      let isCut = call.name == "rt_sigreturn" && answer == "trap"
      if answer == "log" || call.name != "write" && !isEnd && !isCut {
        #expect(processed.hasOneCompleteReport, "\(call.name): \(processed)")
      }
    }
  }

  /// The kernel itself ends the process at such a call, which `HandlerOptions.forgoing` is for; it ends.
  @Test func aFilterThatKillsEndsTheProcess() async throws {
    let directory = try TemporaryDirectory()
    for call in Sweep.isFull ? Self.calls[...] : Self.calls.prefix(3) {
      let end = try await die(
        "null-read", "calls-filtered", filter: "kill:\(call.number)",
        ["--database", directory.path + "/" + call.name], in: directory)
      #expect(end.signal == 31 || end.signal == 11, "\(call.name)")
    }
  }

  /// No answer to a trap can go back where the return is trapped as well.
  @Test func allCallsButTheReturnTrappedAtOnce() async throws {
    let directory = try TemporaryDirectory()
    let numbers = Self.calls.filter { $0.name != "rt_sigreturn" }.map { "\($0.number)" }
    let filter = "trap:" + numbers.joined(separator: ",")
    let alone = try await die(
      "null-read", "calls-filtered", filter: filter, ["--no-handler"], in: directory)
    let handled = try await die(
      "null-read", "calls-filtered", filter: filter, ["--database", directory.path + "/database"],
      in: directory)
    #expect(handled == alone && alone.signal == 11)
  }

  @Test(arguments: ["exit", "terminated"])
  func aProcessThatDoesNotCrashEndsAsAloneUnderAFilterThatTraps(_ kind: String) async throws {
    let directory = try TemporaryDirectory()
    // Those that the program needs itself end it alone, too.
    let calls = Self.calls.filter { Sweep.isFull || $0.name == "rt_sigaction" }
    for call in calls {
      let filter = "trap:\(call.number)"
      let alone = try await die(
        kind, "calls-filtered", filter: filter, ["--no-handler"], in: directory)
      let handled = try await die(
        kind, "calls-filtered", filter: filter, ["--database", directory.path + "/" + call.name],
        in: directory)
      if call.name == "rt_sigaction" && kind == "terminated" {
        #expect(handled.exitCode == 143)
      } else {
        #expect(handled == alone, "\(call.name)")
      }
    }
  }

  #if arch(x86_64)
    /// The kernel ends the process, by the signal of its crash.
    @Test(
      arguments: ["calls-dispatched", "calls-dispatched-but-libc"],
      [
        "null-read", "non-canonical", "truncated-file", "divide-by-zero", "illegal-instruction",
        "breakpoint", "stack-overflow", "abort", "double-free", "fatal-error", "seccomp",
      ])
    func underSyscallUserDispatchTheEndIsAsAlone(_ condition: String, _ kind: String) async throws {
      let directory = try TemporaryDirectory()
      let alone = try await die(kind, condition, ["--no-handler"], in: directory)
      let handled = try await die(
        kind, condition, ["--database", directory.path + "/database"], in: directory)
      #expect(handled == alone && alone.signal != nil)
    }
  #endif
}
