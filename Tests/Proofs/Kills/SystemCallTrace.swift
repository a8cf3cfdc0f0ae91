import CrashTestSupport
import Foundation
import Testing

/// A converter under strace(1), which can kill it at a system call of one's choice, or have the call fail.
///
/// Counting from the start of the process is exact enough here: a converter does the same each
/// time.
struct SystemCallTrace {
  struct Call {
    let name: String
    /// Which one of its name in the process, from 1.
    let number: Int
    /// The line of the trace, with paths for descriptors.
    let line: String
  }

  /// All that can change or read a file.
  private static let set = "%file,%desc"

  /// The calls that a converter makes from the first that names the database.
  let calls: [Call]

  /// Runs a converter undisturbed.
  init(database: String) async throws {
    let directory = try SharedDirectory()
    let child = try await Self.convert(
      ["-y", "-s", "256", "-o", directory.path + "/trace"], database: database, in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    var counts: [String: Int] = [:]
    var calls: [Call] = []
    let text = try String(contentsOfFile: directory.path + "/trace", encoding: .utf8)
    for line in text.split(separator: "\n") {
      // With more than one thread, a process ID comes first.
      guard let match = line.firstMatch(of: /^(?:[0-9]+ +)?([a-z0-9_]+)\(/) else { continue }
      let name = String(match.1)
      counts[name, default: 0] += 1
      calls.append(Call(name: name, number: counts[name, default: 0], line: String(line)))
    }
    let first = try #require(
      calls.firstIndex { $0.name != "execve" && $0.line.contains(database) })
    self.calls = Array(calls[first...])
  }

  /// Runs a converter that is killed as it enters a call.
  ///
  /// - Returns: whether it was killed; a call may not come in another run.
  static func kill(at call: Call, database: String) async throws -> Bool {
    let directory = try SharedDirectory()
    let child = try await convert(
      ["-o", "/dev/null", "-e", "inject=\(call.name):signal=KILL:when=\(call.number)"],
      database: database, in: directory.path)
    return child.end.signal == 9
  }

  /// Runs a converter of which one call fails, without being made.
  ///
  /// - Parameter error: the name of an errno.
  static func refuse(
    _ call: Call, with error: String, database: String
  ) async throws -> ChildProcess {
    let directory = try SharedDirectory()
    return try await convert(
      ["-o", "/dev/null", "-e", "inject=\(call.name):error=\(error):when=\(call.number)"],
      database: database, in: directory.path)
  }

  /// - Parameter options: of strace.
  private static func convert(
    _ options: [String], database: String, in directory: String
  ) async throws -> ChildProcess {
    let strace = try #require(OutsideTool.strace.path)
    return try await ChildProcess.run(
      strace,
      ["-f", "-qq", "-e", "signal=none", "-e", "trace=\(set)"] + options
        + [
          try BuiltProducts.besideTests("crash-lab"), "process", "--database", database,
          "--identifier", "app",
        ], in: directory,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  /// The calls that change something on disk or wait for it, and the one after the last of them:
  /// whoever dies elsewhere leaves what he would leave at the next of these.
  var changes: [Call] {
    let names: Set<String> = [
      "write", "pwrite64", "writev", "fsync", "link", "linkat", "rename", "renameat", "renameat2",
      "unlink", "unlinkat", "mkdir", "mkdirat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat",
      "ftruncate",
    ]
    let indices = calls.indices.filter { index in
      names.contains(calls[index].name) || calls[index].line.contains("O_CREAT")
    }
    let last = indices.last.map { $0 + 1 }.flatMap { $0 < calls.count ? $0 : nil }
    return (indices + (last.map { [$0] } ?? [])).map { calls[$0] }
  }

  /// The first call of some names, at or after a place, whose line has a text.
  func index(of names: String..., after start: Int = 0, with text: String) -> Int? {
    calls.indices.dropFirst(start).first { index in
      names.contains(calls[index].name) && calls[index].line.contains(text)
    }
  }
}
