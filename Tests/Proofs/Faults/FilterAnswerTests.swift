import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import Testing

#if arch(x86_64)
  /// What a process does if a seccomp filter answers one system call, of its start or of a crash, for all its threads.
  ///
  /// The table in `Docs/Internals/SystemCalls.md` comes from these runs. None hangs, except where the table says so.
  @Suite struct FilterAnswerTests {
    private static let path = BuiltProducts.packageRoot + "/Docs/Internals/SystemCalls.md"
    private static let (start, end) = ("<!-- answers -->\n", "<!-- end -->")

    /// The answers of a filter, by crash-lab's names for them, with the head of their column.
    private static let answers = [
      ("error", "error"), ("trap", "trap"), ("kill-thread", "kill the thread"),
      ("kill", "kill the process"), ("notification", "notification"),
    ]

    /// The calls that only the start makes.
    private static let startCalls = [
      "timer_create", "mprotect", "prctl", "readlink", "uname", "statfs", "fstatfs", "statx",
      "sysinfo",
      "linkat", "flock", "clone3", "munlock", "mremap", "access",
    ]

    private static let racing = ["rt_sigaction", "tgkill", "futex"]

    private struct Call {
      let name: String
      let number: Int
      let isOfCrash: Bool
    }

    private static func calls() throws -> [Call] {
      let numbers = Dictionary(
        (0..<600).compactMap { number in SystemCallNames.name(number).map { ($0, number) } },
        uniquingKeysWith: { first, _ in first })
      let listed = TrappedCallTests.calls.map(\.name)
      return try listed.map { Call(name: $0, number: try #require(numbers[$0]), isOfCrash: true) }
        + startCalls.filter { !listed.contains($0) }.compactMap { name in
          numbers[name].map { Call(name: name, number: $0, isOfCrash: false) }
        }
    }

    /// Returns how the process ends; nil if it hangs.
    private static func run(
      _ kind: String, _ conditions: [String], _ filter: String, database: String?,
      in directory: borrowing TemporaryDirectory
    ) async throws -> ChildEnd? {
      let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
      let child = try? await ChildProcess.run(
        victim,
        [kind, "--threads", "3", "--milliseconds", "1000"]
          + conditions.flatMap { ["--condition", $0] }
          + (database.map { ["--database", $0] } ?? ["--no-handler"]),
        in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no", "CRASHLAB_FILTER": filter],
        patience: 20)
      return child?.end
    }

    /// A crash of the main thread: it must end as alone, by SIGSEGV.
    private static func crash(_ call: Call, _ answer: String) async throws -> String {
      guard call.isOfCrash else { return "" }
      let directory = try TemporaryDirectory()
      let database = directory.path + "/database"
      let end = try await run(
        "null-read", ["exits-later", "calls-filtered"], "\(answer):\(call.number)",
        database: database, in: directory)
      guard let end else { return "hangs" }
      if let code = end.exitCode {
        return code == 7 || code == 8 ? "the thread ends" : "exit code \(code)"
      }
      guard end.signal == 11 else { return end.signal == 31 ? "SIGSYS" : "\(end)" }
      return try ReportDirectory(database).snapshots.count == 1 ? "report" : "no report"
    }

    /// A start and a regular end of the process.
    private static func begin(_ call: Call, _ answer: String) async throws -> String {
      let directory = try TemporaryDirectory()
      let filter = "\(answer):\(call.number)"
      let end = try await run(
        "exit", ["calls-filtered-early"], filter, database: directory.path + "/database",
        in: directory)
      // The test program itself makes a few of the calls. If several of its threads make them at once, it may end in
      // different ways.
      var endsAlone: Set<ChildEnd?> = []
      for _ in 0..<(racing.contains(call.name) ? 20 : 1) {
        endsAlone.insert(
          try await run("exit", ["calls-filtered-early"], filter, database: nil, in: directory))
      }
      if endsAlone.contains(end) {
        return endsAlone == [ChildEnd(status: 0)] ? "starts" : "as alone"
      }
      guard let end else { return "hangs" }
      if end.exitCode == 73 { return "fails" }
      return end.signal == 31 ? "SIGSYS" : "\(end)"
    }

    private static func row(_ call: Call) async throws -> String {
      var cells = [call.name]
      for answer in ["error", "trap"] { cells.append(try await begin(call, answer)) }
      for (answer, _) in answers {
        let cell = try await crash(call, answer)
        // Several threads make these calls at once.
        let varies = answer == "kill-thread" && cell != "hangs" && racing.contains(call.name)
        cells.append(varies ? "varies" : cell)
      }
      return "| " + cells.joined(separator: " | ") + " |\n"
    }

    private static func table() async throws -> String {
      let calls = try calls()
      var rows = [String](repeating: "", count: calls.count)
      // Most runs wait, so more of them run at once than there are processors.
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        var next = 0
        func add() {
          guard next < calls.count else { return }
          let index = next
          next += 1
          group.addTask { (index, try await row(calls[index])) }
        }
        for _ in 0..<6 { add() }
        while let (index, row) = try await group.next() {
          rows[index] = row
          add()
        }
      }
      let heads = ["system call", "start: error", "start: trap"] + answers.map { "crash: " + $0.1 }
      return "| " + heads.joined(separator: " | ") + " |\n"
        + String(repeating: "|---", count: heads.count) + "|\n" + rows.joined()
    }

    /// `UPDATE_DOCUMENTS=1 CI=true .build/debug/proofs --run-suites --filter FilterAnswerTests` writes the table.
    @Test func theTableShowsWhatEachAnswerLeadsTo() async throws {
      let table = try await Self.table()
      var text = try String(contentsOfFile: Self.path, encoding: .utf8)
      let start = try #require(text.range(of: Self.start)).upperBound
      let end = try #require(text.range(of: Self.end, range: start..<text.endIndex)).lowerBound
      if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
        text.replaceSubrange(start..<end, with: table)
        try text.write(toFile: Self.path, atomically: true, encoding: .utf8)
        return
      }
      let (found, known) = (table.split(separator: "\n"), text[start..<end].split(separator: "\n"))
      #expect(found.count == known.count)
      for (found, known) in zip(found, known) where found != known {
        Issue.record("\(found)\n\(known)")
      }
    }

    /// The three bounds, whatever the table says: an error or a trap never ends a start, nothing hangs and no exit
    /// waits because a filter has ended the capturing thread.
    @Test func theTableKeepsItsBounds() throws {
      let text = try String(contentsOfFile: Self.path, encoding: .utf8)
      let start = try #require(text.range(of: Self.start)).upperBound
      let end = try #require(text.range(of: Self.end, range: start..<text.endIndex)).lowerBound
      let rows = text[start..<end].split(separator: "\n").dropFirst(2).map { line in
        line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
      }
      #expect(rows.count > 50)
      for row in rows {
        try #require(row.count == 8, "\(row)")
        // The start's first call; without it, no process can catch a trap.
        let startsTrapped =
          row[0] == "rt_sigaction" ? ["SIGSYS", "as alone"] : ["starts", "fails", "as alone"]
        #expect(["starts", "fails", "as alone"].contains(row[1]), "\(row)")
        #expect(startsTrapped.contains(row[2]), "\(row)")
        let bounded = Set(["report", "no report", "SIGSYS", "the thread ends", "varies", ""])
        #expect(row[3...6].allSatisfy(bounded.contains), "\(row)")
        // The thread that serves the notifications makes these calls itself when it is stopped.
        let mayHang = ["getpid", "gettid", "rt_sigprocmask", "clock_gettime"].contains(row[0])
        #expect(mayHang || bounded.contains(row[7]), "\(row)")
      }
    }
  }
#endif
