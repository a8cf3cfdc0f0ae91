import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Testing

/// Volumes that the kubelet opens to `fsGroup` between two starts, and directories of images for OpenShift.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct VolumeGroupTests {
  /// Users and groups that no system has.
  private static let user: UInt32 = 12_345
  private static let neighbor: UInt32 = 12_346
  private static let group: UInt32 = 12_400
  private static let strangeGroup: UInt32 = 12_401
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }
  private var pending: String { database + "/pending-serialized-dumps" }

  init() throws {
    directory = try SharedDirectory()
    try #require(unsafe chmod(directory.path, 0o755) == 0)
  }

  private func make(_ path: String, mode: UInt32, user: UInt32, group: UInt32) throws {
    try #require(unsafe mkdir(path, 0o700) == 0)
    try #require(unsafe chown(path, user, group) == 0)
    try #require(unsafe chmod(path, mode) == 0)
  }

  private func run(
    _ program: String, _ arguments: [String], as user: UInt32?, groups: [UInt32] = [group]
  ) async throws -> ChildProcess {
    let program = try BuiltProducts.besideTests(program)
    let environment = ["SWIFT_BACKTRACE": "enable=no"]
    guard let user else {
      return try await ChildProcess.run(
        program, arguments, in: directory.path, environment: environment)
    }
    let list = groups.map { String($0) }.joined(separator: ",")
    let rights = ["--reuid=\(user)", "--regid=\(groups.first ?? user)", "--groups=\(list)"]
    return try await ChildProcess.run(
      "/usr/bin/setpriv", rights + [program] + arguments, in: directory.path,
      environment: environment)
  }

  /// Changes a tree as the kubelet does at a mount: the group is given, reads and writes of the group are allowed, and
  /// new files of a directory get its group.
  ///
  /// Source: Kubernetes pkg/volume/volume_linux.go, SetVolumeOwnership.
  private func mount(_ path: String, _ group: UInt32, depth: Int = .max) throws {
    var status = stat()
    try #require(unsafe lstat(path, &status) == 0)
    if status.st_mode & S_IFMT == S_IFLNK { return }
    let isDirectory = status.st_mode & S_IFMT == S_IFDIR
    try #require(unsafe lchown(path, .max, group) == 0)
    try #require(
      unsafe chmod(path, status.st_mode & 0o7777 | (isDirectory ? 0o2770 : 0o660)) == 0)
    guard isDirectory, depth > 0 else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      try mount(path + "/" + name, group, depth: depth - 1)
    }
  }

  /// The whole tree, a tree whose change was cut off, and a volume that is changed only at its root.
  @Test(arguments: [Int.max, 1, 0])
  func aProgramStartsAgainInAVolumeThatTheKubeletHasOpened(depth: Int) async throws {
    try make(database, mode: 0o700, user: Self.user, group: Self.group)
    for turn in 1...3 {
      let child = try await run("HandlerOnlyVictim", [database, "abort"], as: Self.user)
      #expect(child.end.signal == SIGABRT, "turn \(turn): \(child.standardError)")
      try mount(database, Self.group, depth: depth)
      // The second time, the program's reports are made by root, the other times by the program's user.
      let converter = turn == 2 ? nil : Self.user
      let process = try await run("postmortem", ["process", "-d", database], as: converter)
      #expect(process.end.exitCode == 0, "turn \(turn): \(process.standardError)")
      try mount(database, Self.group, depth: depth)
    }
    for reader in [Self.user, nil] {
      let list = try await run("postmortem", ["list", "-d", database, "--json"], as: reader)
      #expect(
        list.standardOutput.components(separatedBy: "SIGABRT |").count == 4, "\(list.standardError)"
      )
    }
    let neighbor = try await run("postmortem", ["list", "-d", database], as: Self.neighbor)
    #expect(neighbor.end.exitCode == 1)
    #expect(neighbor.standardError.contains("--shared-with"), "\(neighbor.standardError)")
  }

  @Test func aMountPointOfTheProgramsUserKeepsItsPlaceWhenItIsOpened() async throws {
    try make(database, mode: 0o755, user: 0, group: 0)
    let script = """
      mount -t tmpfs -o mode=0700,uid=\(Self.user),gid=\(Self.group) none "$1" && cd "$1" || exit 90
      user="setpriv --reuid=\(Self.user) --regid=\(Self.group) --groups=\(Self.group)"
      $user "$2" "$1" abort
      chmod -R g+rwX "$1" && chmod 2770 "$1" "$1"/* || exit 91
      $user "$2" "$1" abort
      $user "$3" process -d "$1" || exit 92
      "$3" list -d "$1" --json && ls "$1" >&2
      """
    let child = try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c", script, "sh", database,
        try BuiltProducts.besideTests("HandlerOnlyVictim"),
        try BuiltProducts.besideTests("postmortem"),
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    #expect(child.standardOutput.components(separatedBy: "SIGABRT |").count == 3, "\(child)")
    #expect(!child.standardError.contains("\npostmortem\n"), "\(child.standardError)")
  }

  @Test func aDirectoryOfAnImageForOpenShiftIsUsed() async throws {
    // An arbitrary user with the group 0; `chgrp 0 && chmod g=u` opened root's directory when the image was built.
    try make(database, mode: 0o775, user: 0, group: 0)
    let child = try await run("HandlerOnlyVictim", [database, "abort"], as: Self.user, groups: [0])
    #expect(child.end.signal == SIGABRT, "\(child.standardError)")
    let process = try await run(
      "postmortem", ["process", "-d", database], as: Self.user, groups: [0])
    #expect(process.standardOutput.tellsAWholeDump, "\(process)")
  }

  /// Files that a member of the group adds are refused one by one, and stay.
  @Test func aDumpThatAMemberOfTheGroupAddsIsNotConverted() async throws {
    try make(database, mode: 0o700, user: Self.user, group: Self.group)
    let child = try await run("HandlerOnlyVictim", [database, "abort"], as: Self.user)
    #expect(child.end.signal == SIGABRT, "\(child.standardError)")
    try mount(database, Self.group)
    let id = ReportID()
    let planted = "\(pending)/HandlerOnlyVictim@\(id)"
    try Data(PendingDatabase.complete).write(to: URL(fileURLWithPath: planted))
    try #require(unsafe chown(planted, Self.neighbor, Self.group) == 0)
    for converter in [Self.user, nil] {
      let process = try await run("postmortem", ["process", "-d", database], as: converter)
      #expect(
        (process.standardOutput + process.standardError)
          .contains("belongs to user \(Self.neighbor)"), "\(process)")
      let kept = directory.names("db/pending-serialized-dumps") + directory.names("db/quarantine")
      #expect(kept.contains { $0.contains("\(id)") }, "\(kept)")
    }
    let list = try await run("postmortem", ["list", "-d", database, "--json"], as: Self.user)
    #expect(list.standardOutput.components(separatedBy: "SIGABRT |").count == 2, "\(list)")
  }

  @Test func aGroupThatTheProgramIsNotInIsNamedInTheRefusal() async throws {
    try make(database, mode: 0o2770, user: Self.user, group: Self.strangeGroup)
    let child = try await run("HandlerOnlyVictim", [database, "exit"], as: Self.user)
    #expect(child.end.exitCode == nil)
    #expect(
      child.standardError.contains("group \(Self.strangeGroup) may write to the directory"),
      "\(child.standardError)")
    #expect(child.standardError.contains("fsGroup"))
  }
}
