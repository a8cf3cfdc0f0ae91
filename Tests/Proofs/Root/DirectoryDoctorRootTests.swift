import CrashTestSupport
import Foundation
import Glibc
import Testing

/// `postmortem doctor -d DIR` on directories of other users and groups, and on volumes that are full or read-only: it
/// refuses exactly those that a start by the same user refuses.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct DirectoryDoctorRootTests {
  /// A volume at `$1`, for the user 12345 with the group 12400, and whether a start works.
  private static let volumes: [(script: String, works: Bool)] = [
    ("chown 12345:12400 . && chmod 0700 .", true),
    // After a change to fsGroup.
    ("chown 12345:12400 . && chmod 2770 .", true),
    ("chown 12345:12401 . && chmod 2770 .", false),
    ("chown 12346:12400 . && chmod 0755 .", false),
    ("chown 0:0 . && chmod 0755 .", false),
    // An emptyDir, without and with the directory that a start makes.
    ("chmod 0777 .", true),
    ("chmod 0777 . && mkdir -m 0700 postmortem && chown 12345 postmortem", true),
    ("chmod 0777 . && mkdir -m 0700 postmortem && chown 12346 postmortem", false),
    ("chown 12345 . && chmod 0700 . && mount -o remount,ro .", false),
    ("chown 12345 . && chmod 0700 . && head -c 64m /dev/zero > fill 2> /dev/null; true", false),
    // The directory for dumps is another user's.
    ("chown 12345 . && chmod 0700 . && mkdir -m 0700 pending-serialized-dumps", false),
    ("chown 12345 . && chmod 0700 . && mount -o remount,noexec,nosuid .", true),
  ]

  @Test(arguments: volumes)
  func theDoctorSaysWhatAStartWouldSay(_ volume: (script: String, works: Bool)) async throws {
    let directory = try SharedDirectory()
    try #require(unsafe chmod(directory.path, 0o755) == 0)
    // The doctor comes first: a start makes directories.
    let script = """
      mkdir "$1" && mount -t tmpfs -o mode=0755,size=8m none "$1" && cd "$1" || exit 90
      (\(volume.script)) || exit 91
      cd /
      user="setpriv --reuid=12345 --regid=12400 --groups=12400"
      find "$1" | sort > "$1.before"
      $user "$3" doctor -d "$1" --json > "$1.json"; echo "doctor $?"
      find "$1" | sort | cmp - "$1.before" || exit 92
      $user "$2" "$1" exit 2> "$1.err" > /dev/null; echo "start $?"
      """
    let child = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c", script, "sh", directory.path + "/v",
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        try BuiltProducts.besideTests("postmortem"),
      ], in: directory.path)
    #expect(child.end.exitCode == 0, "\(child)")
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    let started = lines.contains("start 0")
    #expect(started == volume.works, "\(lines)")
    #expect(lines.contains(started ? "doctor 0" : "doctor 1"), "\(lines)")
    let answer =
      try JSONSerialization.jsonObject(
        with: Data(directory.bytes("v.json") ?? [])) as? [String: Any]
    let problems = try #require(answer?["problems"] as? [String])
    #expect(problems.isEmpty == started)
    guard let problem = problems.first else { return }
    // A start first creates a missing directory, for which the doctor creates nothing.
    let said = String(decoding: directory.bytes("v.err") ?? [], as: UTF8.self)
    #expect(Self.withoutNames(said).contains(Self.withoutNames(problem)), "\(problem)\n\(said)")
  }

  private static func withoutNames(_ text: String) -> String {
    text.replacing(/(making|writing)( the directory)? [^ ]+/, with: "ACTION")
  }
}
