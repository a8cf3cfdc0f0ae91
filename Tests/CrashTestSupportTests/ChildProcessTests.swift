import CrashTestSupport
import Foundation
import Testing

@Suite struct ChildProcessTests {
  @Test func anExitCodeIsToldFromASignal() async throws {
    let directory = try TemporaryDirectory()
    let exit = try await ChildProcess.run("/bin/sh", ["-c", "exit 7"], in: directory.path)
    #expect(exit.end.exitCode == 7 && exit.end.signal == nil)
    let killed = try await ChildProcess.run("/bin/sh", ["-c", "kill -TERM $$"], in: directory.path)
    #expect(killed.end.exitCode == nil && killed.end.signal == SIGTERM)
  }

  @Test func outputDirectoryEnvironmentAndProcessIDAreTheChildsOwn() async throws {
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "pwd; echo $$ $WORD; echo oops >&2"], in: directory.path,
      environment: ["WORD": "hello"])
    #expect(child.standardOutput == "\(directory.path)\n\(child.processID) hello\n")
    #expect(child.standardError == "oops\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }

  @Test func noSignalIsBlockedOrIgnoredInAChild() async throws {
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      "/bin/grep", ["-E", "^Sig(Blk|Ign)", "/proc/self/status"], in: directory.path)
    let masks = child.standardOutput.split(separator: "\n").compactMap { line in
      line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
    }
    // glibc's posix_spawn leaves its own signals 32 and 33 ignored.
    #expect(masks.map { $0 & ~0x1_8000_0000 } == [0, 0])
  }

  @Test func aHungChildIsKilledAndFailsTheTest() async throws {
    let directory = try TemporaryDirectory()
    await #expect(throws: HungChild.self) {
      try await ChildProcess.run("/bin/sleep", ["600"], in: directory.path, patience: 1)
    }
  }

  /// The shell ends immediately; the sleep would last ten minutes.
  @Test func whatAChildHasLeftBehindInAGroupOfItsOwnIsNamedAndGone() async throws {
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      "/bin/sh",
      [
        // Wait until the shell's child has executed `sleep`.
        "-c", "sleep 600 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; echo $!",
      ], in: directory.path, leadsGroup: true)
    #expect(child.leftBehind == ["sleep"])
    let processID = try #require(
      pid_t(child.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)))
    // The process ends when the kernel schedules it, and the process that adopted it waits for it.
    let path = "/proc/\(processID)/stat"
    while let text = try? String(contentsOfFile: path, encoding: .utf8),
      text.split(separator: ")").last?.hasPrefix(" Z") == false
    {
      usleep(1000)
    }
    let quiet = try await ChildProcess.run(
      "/bin/sh", ["-c", "sleep 0.01"], in: directory.path, leadsGroup: true)
    #expect(quiet.leftBehind == [])
  }

  @Test func aTemporaryDirectoryGoesWithItsValue() throws {
    func make() throws -> String {
      let directory = try TemporaryDirectory()
      try "text".write(
        toFile: try directory.subdirectory("deep") + "/file", atomically: true, encoding: .utf8)
      #expect(FileManager.default.fileExists(atPath: directory.path + "/deep/file"))
      return directory.path
    }
    #expect(!FileManager.default.fileExists(atPath: try make()))
  }
}
