import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// A database on a volume without FIFOs, links and modes, like an SMB volume.
@Suite(
  .enabled("needs root, to mount") { geteuid() == 0 },
  .needs(.exfatMount),
  .needs(.exfatMake))
struct PlainVolumeTests {
  private let directory: SharedDirectory

  init() throws { directory = try SharedDirectory() }

  /// Runs a shell script with such a volume mounted on the directory `volume`.
  ///
  /// The program with the handler is in `$victim`, a program that converts in `$lab`, and
  /// the command in `$tool`.
  private func run(_ options: String, _ script: String) async throws -> ChildProcess {
    let whole = """
      set -e
      victim=$1 lab=$2 tool=$3
      truncate -s 32M image && mkfs.exfat image >&2 && mkdir volume
      loop=$(losetup --find --show image)
      trap 'umount volume; losetup --detach $loop' EXIT
      mount.exfat-fuse -o \(options) $loop volume >&2
      \(script)
      """
    return try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/bash", "-c", whole, "bash",
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        try BuiltProducts.besideTests("crash-lab"), try BuiltProducts.besideTests("postmortem"),
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  @Test func aCrashThereIsAReport() async throws {
    let child = try await run(
      "umask=0077",
      """
      $victim volume/db abort && exit 1
      ls volume/db/pending-serialized-dumps | sed 's/.*@.\\{36\\}/file /'
      $lab process --database volume/db --identifier HandlerOnlyVictim </dev/null
      echo left $(ls volume/db/pending-serialized-dumps | wc -l)
      echo reports $(ls volume/db/pending | grep -c dmp)
      """)
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    // There is no regular file in place of a FIFO. After an abort, the run record is gone.
    #expect(lines.allSatisfy { $0 != "file .fifo" }, "\(child)")
    #expect(lines.contains { $0.tellsAWholeDump }, "\(child)")
    #expect(lines.suffix(2) == ["left 0", "reports 1"], "\(child)")
  }

  @Test func aProcessThatLivesIsSeenByItsMappedRunRecordFromAnotherPIDNamespaceToo() async throws {
    try directory.put(Array(PendingDatabase.complete.dropLast(60)), "torn")
    let child = try await run(
      "umask=0077",
      """
      mkfifo gate
      $victim volume/db wait-and-abort <gate >out &
      exec 3>gate
      while ! grep -q started out; do sleep 0.05; done
      locked=$(ls volume/db/pending-serialized-dumps/*.locked)
      cat torn >$locked
      convert="$lab process --database volume/db --identifier HandlerOnlyVictim"
      $convert </dev/null
      unshare --pid --fork --mount-proc $convert </dev/null
      kill -KILL $!
      wait || true
      exec 3>&-
      $convert </dev/null
      echo left $(ls volume/db/pending-serialized-dumps | wc -l)
      """)
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    try #require(lines.count == 4, "\(child)")
    for line in lines[..<2] {
      #expect(line.contains("left for now: its owner may still write to it"))
    }
    #expect(lines[2].contains(" (report "), "\(child)")
    #expect(lines[3] == "left 0", "\(child)")
  }

  /// The volume has no files without names.
  @Test func aFileThatTheCommandWritesIsCompleteOrAsItWas() async throws {
    let child = try await run(
      "umask=0077",
      """
      $victim volume/db abort && exit 1
      $tool show volume/db/ --html >expected
      $tool show volume/db/ --html -o volume/page
      cmp expected volume/page && echo new
      echo old >volume/page
      for size in 64K 512; do dd if=/dev/zero of=volume/filler.$size bs=$size 2>/dev/null || true; done
      $tool show volume/db/ --html -o volume/page 2>errors || echo status $?
      tail -n 1 errors
      cat volume/page
      rm volume/filler.*
      $tool show volume/db/ --html -o volume/page
      cmp expected volume/page && echo replaced
      ls -A volume
      """)
    #expect(
      child.standardOutput.split(separator: "\n").suffix(7).map(String.init) == [
        "new", "status 1", "postmortem: volume/page: No space left on device", "old", "replaced",
        "db", "page",
      ], "\(child)")
  }

  @Test func whereOthersMayWriteTheErrorNamesTheMountOptionAndNotChmod() async throws {
    let child = try await run(
      "umask=0", "$victim volume/db abort 2>&1 || true")
    #expect(
      child.standardOutput.contains(
        "its file system (fuseblk) stores no file modes: mount it with dmask=0077,fmask=0177"),
      "\(child)")
    #expect(!child.standardOutput.contains("chmod"), "\(child)")
  }
}
