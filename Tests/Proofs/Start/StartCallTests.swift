import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Testing

/// The cost of `startHandler`, in numbers that other work on the machine does not change.
@Suite struct StartCallTests {
  /// The upper bound of `startHandler`'s system calls in a process of one thread, without `brk`.
  ///
  /// A pids cgroup has two files to open and query, instead of one that is missing; with version 2 of cgroups,
  /// every process outside the root group has one. With a memory limit, six ranges of the handler's memory are
  /// populated, and seven calls read the memory usage.
  private static let limit = 94 + (hasTaskCgroup ? 3 : 0) + (hasMemoryLimit ? 13 : 0)

  private static let hasTaskCgroup = cgroupFile("pids.current", "pids/", "pids.current") != nil

  private static var hasMemoryLimit: Bool {
    let text = cgroupFile("memory.max", "memory/", "memory.limit_in_bytes") ?? ""
    // Without a limit, version 1 has a huge number, and version 2 the word "max".
    return UInt64(text.filter(\.isNumber)).map { $0 < 1 << 62 } ?? false
  }

  /// The text of a file of this process's cgroup; nil if it does not exist.
  private static func cgroupFile(
    _ name: String, _ controller: String, _ oldName: String
  ) -> String? {
    let text = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
    let paths = CgroupText.paths(in: text ?? "")
    let path = controller == "pids/" ? paths.tasks : paths.memory
    let root = CgroupText.root + "/"
    let files =
      path.map {
        [root + controller + $0.dropFirst() + "/" + oldName, root + controller + oldName]
      }
      ?? [root + (paths.unified ?? "/").dropFirst() + "/" + name, root + name]
    return files.lazy.compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }.first
  }
  /// The upper bound of page faults.
  ///
  /// The layout of memory changes a run's count by up to four; one run in eight has 45. Most faults are
  /// on pages of code, so the count grows with the program.
  private static let faultLimit = 46

  /// The victim is optimized, because a debug build touches three times as many pages.
  private static func victim() async throws -> String {
    try await BuiltProducts.shared.executable("HandlerOnlyVictim", .release)
  }

  @Test(.needs(.strace))
  func startHandlerMakesNoMoreSystemCallsThanItDid() async throws {
    let directory = try TemporaryDirectory()
    // The first run makes the directories.
    _ = try await Self.calls(database: directory.path + "/db")
    let calls = try await Self.calls(database: directory.path + "/db")
    #expect(calls.count > 50)
    #expect(calls.count <= Self.limit, "\(calls.joined(separator: "\n"))")
  }

  @Test func startHandlerTouchesNoMorePagesThanItDid() async throws {
    let directory = try TemporaryDirectory()
    var counts: [Int] = []
    // The first run makes the directories, and pages that are missing from the page cache cause additional
    // faults.
    for _ in 0..<24 {
      let child = try await ChildProcess.run(
        try await Self.victim(), [directory.path + "/db", "exit"], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no", "VICTIM_PRINTS_FAULTS": "1"])
      let line = child.standardOutput.split(separator: "\n").first { $0.hasPrefix("faults ") }
      counts.append(try #require(line.flatMap { Int($0.dropFirst(7)) }))
    }
    #expect(try #require(counts.min()) <= Self.faultLimit, "\(counts)")
  }

  @Test(.needs(.strace))
  func noFileIsOpenedTwice() async throws {
    let directory = try TemporaryDirectory()
    let calls = try await Self.calls(database: directory.path + "/db")
    var counts: [String: Int] = [:]
    for call in calls where !call.contains(" = -1 ") {
      guard let match = call.firstMatch(of: /openat\(AT_FDCWD, "([^"]+)"/) else { continue }
      counts[String(match.1), default: 0] += 1
    }
    #expect(counts.count > 5)
    #expect(counts.filter { $0.value > 1 } == [:])
  }

  @Test(.needs(.strace))
  func tenThousandLeftoversAndDumpsCostNothing() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/db"
    _ = try await Self.calls(database: database)
    let usual = try await Self.calls(database: database).count
    for index in 0..<10_000 {
      let name = try #require(
        PendingDumpName(
          identifier: "HandlerOnlyVictim", reportID: ReportID(),
          role: index % 2 == 0 ? .locked : .finished))
      let path = "\(database)/\(PendingDumpName.directory)/\(name)"
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
    }
    var counts: [Int] = []
    // One start in 64 reads all of them.
    for _ in 0..<4 { counts.append(try await Self.calls(database: database).count) }
    // The others ask once how much room the file system has.
    #expect(counts.min() ?? .max <= usual + 1, "\(counts), without leftovers \(usual)")
  }

  @Test func theHandlerAloneLinksNoFoundation() async throws {
    let directory = try TemporaryDirectory()
    let list = try await ChildProcess.run(
      "/usr/bin/ldd", [try BuiltProducts.besideTests("HandlerOnlyVictim")], in: directory.path)
    #expect(list.standardOutput.contains("libswiftCore"), "\(list.standardError)")
    #expect(!list.standardOutput.contains("Foundation"), "\(list.standardOutput)")
  }

  /// The lines of the trace between the two marks of the victim.
  private static func calls(database: String) async throws -> [String] {
    let directory = try TemporaryDirectory()
    let strace = try #require(OutsideTool.strace.path)
    let trace = directory.path + "/trace"
    let child = try await ChildProcess.run(
      strace,
      [
        "-qq", "-e", "signal=none", "-e", "trace=!brk", "-s", "256", "-o", trace,
        try await victim(), database, "exit",
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
      .map(String.init)
    let marks = lines.indices.filter { lines[$0].hasPrefix("close(-1)") }
    try #require(marks.count == 2)
    return Array(lines[(marks[0] + 1)..<marks[1]])
  }
}
