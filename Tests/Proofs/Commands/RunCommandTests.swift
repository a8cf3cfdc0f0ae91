import CrashTestSupport
import Foundation
import Testing

/// `postmortem run COMMAND` behaves like COMMAND alone.
@Suite struct RunCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(
    _ command: [String], options: [String] = [], through: [String] = []
  ) async throws -> ChildProcess {
    let words =
      through + [try BuiltProducts.besideTests("postmortem"), "run"] + options + ["--"] + command
    return try await ChildProcess.run(
      words[0], Array(words.dropFirst()), in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  private func shell(_ script: String) -> [String] { ["/bin/bash", "-c", script] }

  @Test(
    arguments: [
      "exit 0", "exit 7", "exit 255", "kill -TERM $$", "kill -KILL $$", "kill -SEGV $$",
      "kill -ABRT $$", "kill -USR1 $$", "kill -HUP $$", "kill -QUIT $$", "kill -40 $$",
    ])
  func itEndsAsTheCommandEnds(script: String) async throws {
    let alone = try await ChildProcess.run("/bin/bash", ["-c", script], in: directory.path)
    let supervised = try await run(shell(script), options: ["--database", database])
    #expect(supervised.end == alone.end)
    #expect(supervised.standardError == "")
    #expect(directory.names() == [], "no core file, of whichever of the two")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalAfterTheCommandsEndEndsTheUpload(signal: Int32) async throws {
    let enabled = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["upload", database, "--enable", "--create"],
      in: directory.path)
    try #require(enabled.end.exitCode == 0, "\(enabled.standardError)")
    let server = try SilentServer()
    let racer = try Racer(
      "postmortem",
      ["run", "--database", database, "--upload", server.url, "--"]
        + [try BuiltProducts.besideTests("HandlerOnlyVictim"), database, "abort"],
      through: ["/bin/sh", "-c", #"exec "$0" "$@" 2>/dev/null"#])
    defer { racer.kill() }
    #expect(try server.request().hasPrefix("POST / "))
    #expect(try racer.end(by: signal) == signal)
  }

  @Test func withoutADatabaseItSaysThatNoDumpIsProcessed() async throws {
    let child = try await run(shell("echo done; exit 3"))
    #expect(child.end.exitCode == 3 && child.standardOutput == "done\n")
    #expect(child.standardError.contains("no database given"), "\(child.standardError)")
    #expect(child.standardError.contains("--database DIR"))
  }

  @Test func whatCannotBeStartedHasTheShellsStatus() async throws {
    let missing = try await run(["/nonexistent/\nx"])
    #expect(missing.end.exitCode == 127)
    #expect(missing.standardError.contains("/nonexistent/\\nx: No such file or directory"))
    #expect(try await run(["/etc/passwd"]).end.exitCode == 126)
    #expect(try await run([]).end.exitCode == 64)
    let program = try BuiltProducts.besideTests("postmortem")
    let noCommand = try await ChildProcess.run(program, ["run", "--"], in: directory.path)
    #expect(noCommand.standardError.contains("missing argument: COMMAND"))
    // As with docker run, the first word that is no option starts the command.
    let script = "exit $#"
    let noDashes = try await ChildProcess.run(
      program, ["run", "/bin/sh", "-c", script, "--help", "--json"], in: directory.path)
    #expect(noDashes.end.exitCode == 1, "\(noDashes)")
  }

  @Test(.needs(.python3)) func theCommandIsGivenAllAsItIs() async throws {
    let alone =
      "import os,sys,signal; print(sys.argv[1:], os.environ['A'], sorted(os.listdir('/proc/self/fd')), "
      + "open('/proc/self/status').read().split('SigBlk')[1].split('SigCgt')[0], os.getpgrp() == os.getpgid(os.getppid()))"
    let words = ["/usr/bin/env", "A=b=c", "python3", "-c", alone, "--help", "--", "-x", "ä\u{1}"]
    // Leaves out descriptors of other tests, which open and close at any time.
    let close = [
      "/usr/bin/env", "python3", "-c",
      "import os,sys; os.closerange(3, 4096); os.execv(sys.argv[1], sys.argv[1:])",
    ]
    let direct = try await ChildProcess.run(
      close[0], Array(close.dropFirst()) + words, in: directory.path)
    let supervised = try await run(words, through: close)
    #expect(supervised.end.exitCode == 0, "\(supervised.standardError)")
    #expect(direct.standardOutput.contains("['--help', '--', '-x', 'ä\\x01'] b=c"))
    #expect(supervised.standardOutput == direct.standardOutput)
    // Bytes that are not valid UTF-8 are passed unchanged.
    let program = try BuiltProducts.besideTests("postmortem")
    let bytes = try await ChildProcess.run(
      "/bin/bash", ["-c", "\"$0\" run -- printf %s $'\\xff\\xfe' | od -An -tx1", program],
      in: directory.path)
    #expect(bytes.standardOutput == " ff fe\n")
  }

  @Test func theDumpIsProcessedAfterwards() async throws {
    let victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
    let child = try await run([victim, database, "abort"], options: ["--database", database])
    #expect(child.end.signal == SIGABRT)
    #expect(child.standardOutput.contains("crashing "))
    #expect(child.standardError.contains(": SIGABRT "))
    #expect(directory.names("db/pending").count == 2)
    #expect(directory.names("db/pending-serialized-dumps") == [])
    // A run that exits normally prints nothing, and a missing directory is not created.
    let clean = try await run([victim, database, "exit"], options: ["--database", database])
    #expect(clean.end.exitCode == 0 && clean.standardError == "")
    let other = try await run(["true"], options: ["--database", directory.path + "/other"])
    #expect(other.end.exitCode == 0 && other.standardError == "")
    #expect(directory.names() == ["db"])
    // If processing fails, the exit status does not change.
    try directory.put([], "file")
    let failed = try await run(shell("exit 3"), options: ["--database=\(directory.path)/file"])
    #expect(failed.end.exitCode == 3)
    #expect(failed.standardError.contains("/file: not a directory"))
  }

  @Test func theEndOfTheCommandIsCertain() async throws {
    let victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
    let child = try await run([victim, database, "killed"], options: ["--database", database])
    #expect(child.end.signal == SIGKILL)
    let program = try BuiltProducts.besideTests("postmortem")
    let shown = try await ChildProcess.run(
      program, ["show", database, "--json"], in: directory.path)
    let report = try JSONDecoder().decode(EndReport.self, from: Data(shown.standardOutput.utf8))
    #expect(report.end.kind == "killed" && report.end.certainty == "certain")
    #expect(report.end.signal == SIGKILL)
    #expect(child.standardError.contains("; postmortem show \(database) "), "\(child)")
  }

  private struct EndReport: Decodable {
    struct End: Decodable {
      let kind: String
      let certainty: String
      let signal: Int32?
    }
    let end: End
  }

  @Test(arguments: ["TERM", "INT", "HUP", "USR1", "USR2", "QUIT", "WINCH", "ABRT", "RTMIN+3"])
  func aSignalThatIsSentArrivesOnce(name: String) async throws {
    // The command counts the signals that it gets, and sends the signal both to its parent, `postmortem run`, and
    // to itself.
    let script = """
      count=0; trap 'count=$((count + 1))' \(name)
      kill -\(name) $PPID
      for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ $count -gt 0 ] && break; sleep 0.05
      done
      sleep 0.2; echo got $count; exit 5
      """
    let child = try await run(shell(script))
    #expect(child.standardOutput == "got 1\n", "\(child.standardError)")
    #expect(child.end.exitCode == 5)
  }

  @Test(.needs(.python3))
  func theTerminalsInterruptArrivesOnceAndStopsWork() async throws {
    // The test needs its own terminal: Ctrl-C signals the foreground group, which contains both processes; Ctrl-Z
    // stops both, and continuing the group resumes both.
    let script = #"""
      import os, pty, sys, time, signal
      pid, fd = pty.fork()
      if pid == 0:
          signal.signal(signal.SIGINT, signal.SIG_DFL)
          os.execv(sys.argv[1], [sys.argv[1], "run", "--", sys.executable, "-u", "-c", """
      import signal, time
      got = []
      signal.signal(signal.SIGINT, lambda *a: got.append(1))
      print('ready')
      while not got: time.sleep(0.02)
      time.sleep(0.3)
      print('got', len(got), 'name', input())
      raise SystemExit(9)
      """])
      def until(text):
          seen = b''
          while text not in seen: seen += os.read(fd, 1000)
          return seen.decode()
      until(b'ready')
      os.write(fd, b'\x03')
      time.sleep(0.5)
      os.write(fd, b'you\n')
      print(until(b'name you'))
      print('exit', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
      """#
    let program = try BuiltProducts.besideTests("postmortem")
    let child = try await ChildProcess.run(
      try #require(OutsideTool.python3.path), ["-c", script, program], in: directory.path)
    #expect(child.standardOutput.contains("got 1 name you"), "\(child)")
    #expect(child.standardOutput.contains("exit 9"))
  }
}
