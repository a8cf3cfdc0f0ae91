import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// The summary on a standard error that is off, is not the program's own, or cannot be written.
@Suite struct SummaryEndTests {
  @Test(arguments: ["null-read", "assert", "double-free"])
  func turnedOffNothingIsPrinted(_ kind: String) async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone(kind, on: .main)
    let handled = try await victim.run(
      [kind, "--database", victim.database, "--threads", "3", "--no-summary"], in: "handled")
    #expect(handled.end == alone.end)
    #expect(handled.standardError == alone.standardError)
    #expect(try await victim.process().count == 1)
  }

  /// The caller must not learn there where the program's memory and its files are.
  @Test(.enabled("needs root") { geteuid() == 0 })
  func aProgramWithMoreRightsThanItsCallerPrintsNothing() async throws {
    let victim = try await Victim(.asTested)
    let directory = try victim.directory("program")
    let script = """
      cp "$0" "$1/crash-lab" && chmod 4755 "$1/crash-lab" && chmod 711 "$1" "${1%/*}" &&
      exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1/crash-lab" null-read --database "$2"
      """
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", script, victim.executable, directory, victim.database],
      in: try victim.directory("handled"), environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == SIGSEGV)
    #expect(!child.standardError.contains("postmortem["), "\(child.standardError)")
    #expect(try await victim.process().count == 1)
  }

  /// A standard error that cannot be written.
  struct BadEnd: Sendable, CustomTestStringConvertible {
    let name: String
    /// Shell commands before `exec "$@"`; the working directory is the directory of the run.
    let setUp: String
    var kinds = ["null-read", "abort"]
    var testDescription: String { name }

    static let all: [BadEnd] = [
      // Swift prints its message to descriptor 2: it must not get into a file of ours that has this number.
      BadEnd(name: "closed", setUp: "exec 2>&-", kinds: ["null-read", "fatal-error"]),
      BadEnd(
        name: "a full pipe that nobody reads",
        setUp: """
          mkfifo pipe && exec 3<>pipe
          dd if=/dev/zero of=pipe bs=4096 oflag=nonblock 2>/dev/null
          exec 2>pipe
          """),
      BadEnd(
        name: "a pipe whose reader is gone",
        setUp: "mkfifo pipe && exec 3<>pipe && exec 2>pipe 3<&-"),
      BadEnd(name: "a full device", setUp: "exec 2>/dev/full"),
      BadEnd(name: "open for reading", setUp: "exec 2</dev/null"),
      BadEnd(
        name: "beyond the file size limit",
        setUp: "printf '%s' $(seq 1 400) > file && exec 2>>file && ulimit -S -f 1"),
    ]
  }

  @Test(arguments: BadEnd.all)
  func whateverStandardErrorIsTheEndIsTheSame(_ bad: BadEnd) async throws {
    for kind in bad.kinds {
      let victim = try await Victim(.asTested)
      func die(_ arguments: [String], in name: String) async throws -> ChildProcess {
        try await ChildProcess.run(
          "/bin/sh", ["-c", bad.setUp + "\nexec \"$0\" \"$@\"", victim.executable] + arguments,
          in: try victim.directory(name), environment: ["SWIFT_BACKTRACE": "enable=no"])
      }
      let alone = try await die([kind, "--no-handler"], in: "alone")
      let handled = try await die([kind, "--database", victim.database], in: "handled")
      #expect(alone.end.signal != nil)
      #expect(handled.end == alone.end, "\(kind)")
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
    }
  }

  @Test(.enabled("needs root") { geteuid() == 0 })
  func aDiskThatIsFullLeavesATornDumpAndSaysSo() async throws {
    let victim = try await Victim(.asTested)
    let directory = try victim.directory("disk")
    let child = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c",
        "mount -t tmpfs -o size=32k none \"$1\" && exec \"$0\" null-read --database \"$1/db\"",
        victim.executable, directory,
      ], in: directory, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == 11)
    #expect(child.standardError.contains("; dump cut off: ENOSPC; report: postmortem show "))
    let logged = try #require(try LoggedReport.snapshots(in: child.standardError).first)
    #expect(logged.exception?.signal == SIGSEGV)
  }

  @Test func modulesAreFoundInDirectoriesOfSymbolsAndAnotherBuildIsNotUsed() async throws {
    let victim = try await Victim(.asTested)
    let program = try victim.directory("program") + "/crash-lab"
    // /bin/cp makes the copy: if this process did, a child that is being spawned might hold the new file open for
    // writing, and it could not be executed (ETXTBSY).
    let copy = try await ChildProcess.run(
      "/bin/cp", [victim.executable, program], in: try victim.directory("copy"))
    try #require(copy.end.exitCode == 0, "\(copy.standardError)")
    let child = try await ChildProcess.run(
      program, ["null-read", "--database", victim.database], in: try victim.directory("handled"),
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.standardError.contains("postmortem-log-"), "\(child.standardError)")
    let log = try victim.directory("log") + "/log"
    try child.standardError.write(toFile: log, atomically: false, encoding: .utf8)
    let symbols = try victim.directory("symbols")
    try FileManager.default.moveItem(atPath: program, toPath: symbols + "/crash-lab")
    let others = try victim.directory("others")
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    try FileManager.default.copyItem(atPath: tool, toPath: others + "/crash-lab")
    func symbolicate(_ directories: [String]) async throws -> ChildProcess {
      try await ChildProcess.run(
        "/bin/sh",
        ["-c", "log=$1 && shift && exec \"$0\" symbolicate \"$@\" < \"$log\"", tool, log]
          + directories.flatMap { ["--symbols", $0] }, in: symbols)
    }
    let without = try await symbolicate([]).standardOutput
    #expect(!without.contains("crash_null_read"))
    #expect(without.contains("crash-lab+0x"))
    #expect(without.contains("No such file"))
    let other = try await symbolicate([others]).standardOutput
    #expect(!other.contains("crash_null_read"))
    #expect(other.contains("\(others)/crash-lab") && other.contains("not the same build"))
    #expect(try await symbolicate([others, symbols]).standardOutput.contains("crash_null_read"))
    #expect(try await symbolicate([others + "/none"]).end.exitCode == 1)
    let nothing = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" symbolicate < /dev/null", tool], in: symbols)
    #expect(nothing.end.exitCode == 1)
    #expect(nothing.standardError.contains("no crash: "))
  }

  @Test func theSampleInThePaperHasTheFormOfWhatIsPrinted() async throws {
    let paper = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Internals/CrashSummary.md", encoding: .utf8
    )
    let sample = try #require(paper.components(separatedBy: "```").dropFirst().first)
    let victim = try await Victim(.asTested)
    let child = try await victim.run(["assert", "--database", victim.database], in: "handled")
    for text in [sample, child.standardError] {
      let lines = text.split(separator: "\n").filter { $0.hasPrefix("postmortem") }
      try #require(lines.count >= 4)
      #expect(
        lines[0].wholeMatch(
          of:
            /postmortem\[[0-9]+\]: CrashLab 1\.0 crashed: SIGABRT SI_TKILL, thread [0-9]+: .*/
        )
          != nil)
      #expect(
        lines[1].wholeMatch(
          of:
            /postmortem\[[0-9]+\]: at libc\.so\.6\+0x.*; report: postmortem show .* [0-9a-f]{8}; from this log: .*/
        )
          != nil)
      #expect(
        lines.dropFirst(2).allSatisfy {
          $0.wholeMatch(
            of:
              /postmortem-log-1[ax]-[0-9a-f]{16}-[1-6]of[1-6]-[0-9]{3}-[-_A-Za-z0-9…]+-[0-9a-f]{8}/)
            != nil
        })
    }
  }
}
