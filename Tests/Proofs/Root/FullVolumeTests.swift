import CrashTestSupport
import Foundation
import Glibc
import Testing

/// A small volume that a crash loop has filled works again after the next start, conversion or pruning.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct FullVolumeTests {
  /// Fills a volume of 24 MiB with copies of a real dump, as a crash loop does whose dumps nobody converts, and leaves
  /// one older dump of another program.
  ///
  /// The size is small, so that the test is quick; a quarter of it is far below 128 MiB.
  private static let fill = """
    mount -t tmpfs -o size=24m none "$1" && cd "$1" || exit 90
    "$2" "$1/db" abort
    cd db/pending-serialized-dumps || exit 91
    dump=$(ls | grep -E '^HandlerOnlyVictim@[-0-9a-f]{36}$') || exit 92
    id=${dump#*@}
    cp "$dump" "other@00000000-0000-4000-8000-000000000000"
    touch -d "2 days ago" other@*
    number=0
    while cp "$dump" "HandlerOnlyVictim@$(printf '%08x' $number)${id#????????}" 2>/dev/null; do
      number=$((number + 1))
    done
    [ "$(df --output=avail -B1 . | tail -1)" -lt 65536 ] && [ $number -gt 50 ] || exit 93
    head -c 65536 /dev/zero > filler 2>/dev/null
    cd ../..
    """

  private func run(_ script: String) async throws -> ChildProcess {
    let directory = try SharedDirectory()
    return try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c", Self.fill + "\n" + script, "sh", directory.path,
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        try BuiltProducts.besideTests("postmortem"),
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  /// The dumps take at most a quarter of the volume, and the other program's only dump is there.
  private static let check = """
    [ "$(du -sk db/pending-serialized-dumps | cut -f1)" -le 7200 ] || exit 95
    """

  @Test func aStartMakesRoomBeforeItsOwnFiles() async throws {
    let child = try await run(
      """
      "$2" "$1/db" exit || exit 94
      \(Self.check)
      ls db/pending-serialized-dumps/other@* || exit 96
      "$2" "$1/db" abort
      "$3" process -d "$1/db"
      """)
    #expect(child.end.exitCode == 0, "\(child.end) \(child.standardError)")
    #expect(child.standardOutput.contains("other@"), "the other program's dump is a report")
  }

  @Test func aConversionMakesRoomAndConverts() async throws {
    let child = try await run(
      """
      "$3" process -d "$1/db" --json > out || exit 94
      grep -q '"other@' out || exit 96
      ls db/pending-serialized-dumps | grep -q HandlerOnlyVictim@ && exit 97
      "$2" "$1/db" exit
      """)
    #expect(child.end.exitCode == 0, "\(child.end) \(child.standardError)")
  }

  @Test func pruningMakesRoom() async throws {
    let child = try await run(
      """
      "$3" prune -d "$1/db" || exit 94
      \(Self.check)
      "$3" process -d "$1/db" > out && "$2" "$1/db" exit
      """)
    #expect(child.end.exitCode == 0, "\(child.end) \(child.standardError)")
  }
}
