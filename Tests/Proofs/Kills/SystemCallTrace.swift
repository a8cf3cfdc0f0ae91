import CrashTestSupport
import Foundation
import Testing

/// A converter under strace(1), which can kill it at a given system call, or make the call fail.
///
/// Counting calls from the start of the process identifies a call, because a converter makes the same calls each
/// time.
struct SystemCallTrace {
  struct Call {
    let name: String
    /// The number of the call among those of the same name in the process, from 1.
    let number: Int
    /// The line of the trace, with the paths of descriptors.
    let line: String
  }

  /// All calls that can change or read a file.
  private static let set = "%file,%desc"

  /// The calls of a converter, from the first one that names the database.
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
      // If there is more than one thread, strace starts the line with a process ID.
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
  /// - Returns: true if it was killed; false if this run did not make the call.
  static func kill(at call: Call, database: String) async throws -> Bool {
    let directory = try SharedDirectory()
    let child = try await convert(
      ["-o", "/dev/null", "-e", "inject=\(call.name):signal=KILL:when=\(call.number)"],
      database: database, in: directory.path)
    return child.end.signal == 9
  }

  /// Runs a converter in which one call fails without being made.
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

  /// - Parameter options: options of strace.
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

  /// The calls that change something on disk or wait for it, and the call after the last of them.
  ///
  /// A converter that is killed at any other call leaves the same files as one that is killed at the next of
  /// these.
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

  /// The first call with one of the names, at or after an index, whose line contains a text.
  func index(of names: String..., after start: Int = 0, with text: String) -> Int? {
    calls.indices.dropFirst(start).first { index in
      names.contains(calls[index].name) && calls[index].line.contains(text)
    }
  }
}
