import CrashTestSupport
import Glibc
import Testing

/// `postmortem run` as the first process of a PID namespace, as in a container.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct FirstProcessRunTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ command: [String], through: [String]) async throws -> ChildProcess {
    let words = through + [try BuiltProducts.besideTests("postmortem"), "run", "--"] + command
    return try await ChildProcess.run(
      words[0], Array(words.dropFirst()), in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  private func shell(_ script: String) -> [String] { ["/bin/bash", "-c", script] }

  @Test func asTheFirstProcessItCollectsOrphansAndExitsWithTheShellsStatus() async throws {
    let namespace = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    #expect(try await run(shell("exit 7"), through: namespace).end.exitCode == 7)
    #expect(try await run(shell("kill -TERM $$"), through: namespace).end.exitCode == 143)
    #expect(try await run(shell("kill -SEGV $$"), through: namespace).end.exitCode == 139)
    // The orphan was waited for when it ended; it is not a zombie of process 1.
    let script = """
      (sleep 0.1 & echo $! > orphan); read orphan < orphan
      while grep -q '^PPid:.*1$' /proc/$orphan/status 2>/dev/null; do sleep 0.05; done
      [ -e /proc/$orphan ] && cat /proc/$orphan/status; exit 0
      """
    let child = try await run(shell(script), through: namespace)
    #expect(child.end.exitCode == 0)
    #expect(child.standardOutput == "")
    // A container runtime sends SIGTERM to process 1, and the command chooses its exit code.
    let stop = "trap 'echo asked; exit 4' TERM; kill -TERM 1; while :; do sleep 0.05; done"
    let stopped = try await run(shell(stop), through: namespace)
    #expect(stopped.end.exitCode == 4)
    #expect(stopped.standardOutput == "asked\n")
  }
}
