import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// Filters that trap or fail one system call of the handler, and syscall user dispatch, which keeps the thread
/// from making any system call.
@Suite struct TrappedCallTests {
  /// The system calls in the table of Docs/Internals/SystemCalls.md.
  static let calls: [(name: String, number: Int)] = {
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

  /// A trapped call does not change how the process ends: the handler gets the answer of a call that the kernel
  /// does not have.
  @Test(arguments: Sweep.isFull ? ["trap", "error", "log"] : ["trap"], ["null-read", "seccomp"])
  func theEndIsAsAloneWithOneWholeReport(_ answer: String, _ kind: String) async throws {
    let directory = try TemporaryDirectory()
    for call in Self.calls {
      let filter = "\(answer):\(call.number)"
      let database = directory.path + "/" + call.name
      let alone = try await die(
        kind, "calls-filtered", filter: filter, ["--no-handler"], in: directory)
      // If the return fails with an error, libc's code runs on into the instructions after it.
      if call.name == "rt_sigreturn" && answer == "error" { continue }
      // The crash of this kind is caused by a filter, and installing that filter needs one of the calls.
      guard alone.signal != nil else { continue }
      let handled = try await die(
        kind, "calls-filtered", filter: filter, ["--database", database], in: directory)
      // The program's own trap cannot be re-raised.
      if call.name == "rt_sigaction" && kind == "seccomp" && answer != "log" {
        #expect(handled.exitCode == 159, "\(call.name)")
      } else {
        #expect(handled == alone, "\(call.name)")
      }
      let processed = try ReportDirectory(database)
      #expect(processed.snapshots.count <= 1, "\(call.name): \(processed)")
      // Until this call unblocks SIGSYS, it is blocked in its own handler.
      let isEnd = call.name == "rt_sigprocmask" && kind == "seccomp" && answer == "trap"
      // Each tick of the time limit returns by this call; if the call is trapped, the interrupted section is
      // abandoned.
      let isCut = call.name == "rt_sigreturn" && answer == "trap"
      if answer == "log" || call.name != "write" && !isEnd && !isCut {
        #expect(processed.hasOneCompleteReport, "\(call.name): \(processed)")
      }
    }
  }

  /// For such a call the kernel itself ends the process; `HandlerOptions.forgoing` exists for this case.
  @Test func aFilterThatKillsEndsTheProcess() async throws {
    let directory = try TemporaryDirectory()
    for call in Sweep.isFull ? Self.calls[...] : Self.calls.prefix(3) {
      let end = try await die(
        "null-read", "calls-filtered", filter: "kill:\(call.number)",
        ["--database", directory.path + "/" + call.name], in: directory)
      #expect(end.signal == 31 || end.signal == 11, "\(call.name)")
    }
  }

  /// If rt_sigreturn is trapped too, no answer to a trap can return, so this test leaves it out.
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
    // The calls that the program itself needs end the program without the handler, too.
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
    /// The kernel ends the process by the signal of its crash.
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
