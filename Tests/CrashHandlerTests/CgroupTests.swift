import CrashTestSupport
import Foundation
import Glibc
import PendingDumps
import Testing

@testable import CrashHandler

/// The cgroup files that `startHandler` opens, in prepared directories.
@Suite struct CgroupTests {
  /// Opens a cgroup's files, and returns whether each is open.
  ///
  /// The files are the memory used, its limit, its kinds, the number of tasks, and their limit.
  private static func opened(
    _ text: String, _ directory: String, _ files: [String: String]
  ) throws -> (open: [Bool], isLimited: Bool) {
    let root = try TemporaryDirectory()
    let place = root.path + directory
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    for (name, contents) in files {
      try contents.write(toFile: place + "/" + name, atomically: false, encoding: .utf8)
    }
    let cgroup = Cgroup.current(text: text, root: root.path)
    defer { cgroup.close() }
    let held = [
      cgroup.files.memoryUsed, cgroup.files.memoryLimit, cgroup.files.memoryKinds,
      cgroup.files.tasksUsed, cgroup.files.tasksLimit,
    ]
    return (held.map { $0.isThere() }, cgroup.isLimited)
  }

  @Test func version2WhatOfTheMemoryIsACacheIsHeldWhereThereIsALimitAlone() throws {
    var files = [
      "memory.current": "4096\n", "memory.max": "max\n", "memory.stat": "file 0\n",
      "pids.current": "1\n", "pids.max": "max\n",
    ]
    let free = try Self.opened("0::/a/b\n", "/a/b", files)
    #expect(free.open == [true, true, false, true, true] && !free.isLimited)
    files["memory.max"] = "1048576\n"
    let limited = try Self.opened("0::/a/b\n", "/a/b", files)
    #expect(limited.open == [true, true, true, true, true] && limited.isLimited)
  }

  @Test func version1TheLargestNumberIsNoLimit() throws {
    var files = [
      "memory.usage_in_bytes": "4096\n", "memory.limit_in_bytes": "9223372036854771712\n",
      "memory.stat": "cache 0\n",
    ]
    let text = "4:memory:/a\n0::/\n"
    let free = try Self.opened(text, "/memory/a", files)
    #expect(free.open == [true, true, false, false, false] && !free.isLimited)
    files["memory.limit_in_bytes"] = "1048576\n"
    let limited = try Self.opened(text, "/memory/a", files)
    #expect(limited.open == [true, true, true, false, false] && limited.isLimited)
  }
}
