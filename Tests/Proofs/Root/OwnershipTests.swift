import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

/// Attacks by other users on a database's directories, and shared databases.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct OwnershipTests {
  /// Users and a group that no system has.
  private static let user: UInt32 = 12_345
  private static let sidecar: UInt32 = 12_346
  private static let group: UInt32 = 12_400
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
    try #require(unsafe chmod(directory.path, 0o755) == 0)
  }

  private static func asUser(_ user: UInt32, _ group: UInt32? = nil) -> [String] {
    let groups = group.map { "--groups=\($0)" } ?? "--clear-groups"
    return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", groups]
  }

  private func run(
    _ words: [String], environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      words[0], Array(words.dropFirst()), in: directory.path,
      environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own })
  }

  private func make(_ name: String, mode: UInt32, user: UInt32 = 0, group: UInt32 = 0) throws
    -> String
  {
    let path = directory.path + "/" + name
    try #require(unsafe mkdir(path, 0o700) == 0)
    try #require(unsafe chown(path, user, group) == 0)
    try #require(unsafe chmod(path, mode) == 0)
    return path
  }

  private static var victim: String {
    get throws { try BuiltProducts.besideTests("HandlerOnlyVictim") }
  }
  private static var tool: String { get throws { try BuiltProducts.besideTests("postmortem") } }

  private func mode(_ path: String) -> (mode: UInt32, user: UInt32, group: UInt32) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return (0, 0, 0) }
    return (status.st_mode & 0o7777, status.st_uid, status.st_gid)
  }

  // MARK: - Links

  @Test(
    .enabled("needs python3, for all users") {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")
    })
  func aLinkThatComesBetweenTwoStepsChangesNoModeElsewhere() async throws {
    let target = try make("roots", mode: 0o755)
    let database = try make("db", mode: 0o700, user: Self.user, group: Self.user)
    let script = """
      import os, sys, threading
      threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
      names, count = ["new", "pending", "completed", "attachments"], 0
      os.mkdir("trash")
      print("ready", flush=True)
      while True:
        for name in names:
          try:
            os.rename(name, "trash/%d" % count)
            os.symlink(sys.argv[1], name)
            count += 1
          except OSError:
            pass
      """
    let attack = Process()
    attack.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
    attack.arguments =
      Self.asUser(Self.user).dropFirst() + [
        "/usr/bin/python3", "-c", script, target,
      ]
    attack.currentDirectoryURL = URL(fileURLWithPath: database)
    let (input, output) = (Pipe(), Pipe())
    attack.standardInput = input
    attack.standardOutput = output
    try attack.run()
    defer { attack.killAndWait() }
    _ = output.fileHandleForReading.availableData
    var made = 0
    for _ in 0..<400 {
      for name in ["new", "pending", "completed", "attachments"] {
        unsafe unlink("\(database)/\(name)")
      }
      if (try? CrashReportDatabase(path: database)) != nil { made += 1 }
      try #require(mode(target).mode == 0o755, "after \(made) tries")
    }
    #expect(!directory.names("db/trash").isEmpty, "nothing was attacked")
  }

  @Test func theHandlerFollowsNobodyElsesLink() async throws {
    let real = try make("real", mode: 0o700, user: Self.user, group: Self.user)
    let link = directory.path + "/link"
    try #require(unsafe symlink(real, link) == 0)
    try #require(unsafe lchown(link, Self.sidecar, Self.sidecar) == 0)
    let child = try await run(Self.asUser(Self.user) + [try Self.victim, link, "abort"])
    #expect(
      child.standardError.contains("the symbolic link \(link) belongs to user \(Self.sidecar)"))
    #expect(directory.names("real") == [])
    try #require(unsafe lchown(link, Self.user, Self.user) == 0)
    let own = try await run(Self.asUser(Self.user) + [try Self.victim, link, "exit"])
    #expect(own.end.exitCode == 0, "\(own.standardError)")
  }

  // MARK: - Who may write

  /// Modes, and whether the user is in the directory's group.
  @Test(arguments: [(UInt32(0o777), true), (0o1777, true), (0o775, false), (0o2770, false)])
  func aDatabaseThatOthersMayWriteIsRefusedByHandlerAndConverterAlike(
    _ bits: UInt32, isMember: Bool
  ) async throws {
    let database = try make("db", mode: bits, user: Self.user, group: Self.group)
    _ = try make("db/pending-serialized-dumps", mode: 0o700, user: Self.user, group: Self.user)
    let user = Self.asUser(Self.user, isMember ? Self.group : nil)
    let child = try await run(user + [try Self.victim, database, "exit"])
    let process = try await run(user + [try Self.tool, "process", database])
    #expect(child.end.exitCode == nil && process.end.exitCode == 1)
    for text in [child.standardError, process.standardError] {
      #expect(text.contains("may write to the directory \(database)"), "\(text)")
      #expect(text.contains("chmod 700 \(database)"))
    }
    #expect(mode(database).mode == bits)
  }

  @Test func user65534IsAUserLikeOthersOutsideAUserNamespace() async throws {
    let database = try make("db", mode: 0o755, user: 65534, group: 65534)
    _ = try make("db/pending-serialized-dumps", mode: 0o700, user: Self.user, group: Self.user)
    let child = try await run(Self.asUser(Self.user) + [try Self.victim, database, "exit"])
    #expect(child.end.exitCode == nil)
    #expect(child.standardError.contains("belongs to user 65534"), "\(child.standardError)")
  }

  @Test func inAUserNamespace65534IsAUserOfTheHost() async throws {
    let database = try make("db", mode: 0o755, user: Self.user, group: Self.user)
    _ = try make("db/pending-serialized-dumps", mode: 0o700)
    // In the namespace, root of the host is user 1000, and the owner is an unmapped user.
    let child = try await run([
      "/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000", try Self.victim,
      database,
      "exit",
    ])
    #expect(child.end.exitCode == 0, "\(child.standardError)")
  }

  // MARK: - Mount points and groups

  /// The modes with which Kubernetes creates an `emptyDir`.
  @Test(arguments: ["0777", "2777"])
  func aMountPointThatOthersMayWriteGetsADirectoryInIt(bits: String) async throws {
    let mount = try make("mount", mode: 0o755)
    let user = Self.asUser(Self.user).joined(separator: " ")
    let script = """
      mount -t tmpfs -o mode=\(bits) none "$1" && cd "$1" || exit 90
      \(user) "$2" "$1" abort
      \(user) "$3" process "$1" || exit 91
      \(user) "$3" list "$1" || exit 92
      "$3" list "$1" || exit 93
      stat -c '%a %u' "$1" "$1/postmortem" && ls "$1"
      """
    let child = try await run([
      "/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh", mount, try Self.victim,
      try Self.tool,
    ])
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.tellsAWholeDump }, "\(lines)")
    #expect(lines.filter { $0.contains("SIGABRT") }.count >= 2, "\(lines)")
    #expect(
      lines.suffix(3) == ["\(Int(bits) ?? 0) 0", "700 \(Self.user)", "postmortem"], "\(lines)")
  }

  @Test func aSidecarOfTheNamedGroupConverts() async throws {
    let parent = try make("parent", mode: 0o2775, user: Self.user, group: Self.group)
    let database = parent + "/db"
    let shared = ["VICTIM_SHARED_GROUP": "\(Self.group)"]
    for turn in 1...2 {
      // The dump of a worker, which is a forked child, is created during its crash.
      let child = try await run(
        Self.asUser(Self.user, Self.group) + [try Self.victim, database, "both-crash"],
        environment: shared)
      #expect(child.end.signal == SIGABRT, "\(child.standardError)")
      let beside = Self.asUser(Self.sidecar, Self.group) + [try Self.tool]
      let refused = try await run(beside + ["process", database])
      #expect(refused.end.exitCode == 1)
      #expect(refused.standardError.contains("--shared-with"), "\(refused.standardError)")
      let process = try await run(
        beside + ["process", database, "--shared-with", "\(Self.group)"])
      #expect(process.end.exitCode == 0, "\(process.standardError) \(process.standardOutput)")
      let lines = process.standardOutput.split(separator: "\n")
      #expect(lines.count { $0.tellsAWholeDump } == 2, "turn \(turn): \(lines)")
    }
    for name in ["", "/pending-serialized-dumps", "/pending", "/attachments"] {
      #expect(mode(database + name).mode == 0o2770 && mode(database + name).group == Self.group)
    }
    // The user of the program can read the files that the other user created.
    let listed = try await run(
      Self.asUser(Self.user, Self.group) + [
        try Self.tool, "list", database, "--shared-with", "\(Self.group)", "--json",
      ])
    #expect(listed.standardOutput.components(separatedBy: "\"reportID\"").count == 5, "\(listed)")
    let stranger = try await run(
      Self.asUser(Self.sidecar) + [
        try Self.tool, "list", database, "--shared-with", "\(Self.group)",
      ])
    #expect(stranger.end.exitCode == 1)
  }

  // MARK: - Attachments

  /// Makes a dump of a user's process; the dump names files.
  private func dump(of user: UInt32?, _ paths: [String]) throws -> [UInt8] {
    try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        writer.startMap(.process)
        writer.unsigned(.processID, 4242, width: 4)
        if let user {
          writer.text(
            .processStatus,
            "Name:\tvictim\nUid:\t\(user)\t\(user)\t\(user)\t\(user)\n"
              + "Gid:\t\(user)\t\(user)\t\(user)\t\(user)\n")
        }
        writer.end()
        writer.startMap(.exception)
        writer.unsigned(.exceptionThreadID, 4242, width: 4)
        writer.signed(.signalNumber, 11, width: 4)
        writer.end()
        writer.startArray(.attachments)
        for path in paths {
          writer.startMap(.attachment)
          writer.text(.attachmentPath, path)
          writer.end()
        }
        writer.end()
        _ = writer.endDocument()
      })
  }

  /// Makes files of root and of the user, and returns the names of those that a conversion by root copied.
  private func copied(of user: UInt32?, owner: UInt32) throws -> [String] {
    try directory.put(Array("secret".utf8), "secret")
    try #require(unsafe chmod(directory.path + "/secret", 0o600) == 0)
    try directory.put(Array("log".utf8), "log")
    try #require(unsafe chmod(directory.path + "/log", 0o600) == 0)
    try #require(unsafe chown(directory.path + "/log", Self.user, Self.user) == 0)
    let dumps = try PendingDatabase()
    let id = try dumps.putDump(
      try dump(of: user, ["secret", "log"].map { directory.path + "/" + $0 }))
    try #require(unsafe chown(dumps.path(of: "app@\(id)"), owner, owner) == 0)
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
    return dumps.directory.names("attachments/\(id)")
  }

  @Test func ofAForeignDumpRootCopiesNothing() throws {
    #expect(try copied(of: 0, owner: Self.user) == [])
  }

  @Test func filesAreOpenedAsTheUserThatTheProgramHadBecome() throws {
    #expect(try copied(of: Self.user, owner: 0) == ["log"])
    #expect(try copied(of: nil, owner: 0) == [])
    #expect(try copied(of: 0, owner: 0) == ["log", "secret"])
  }

  // MARK: - Bounds

  @Test func aForeignFileDoesNotUseUpTheBound() async throws {
    let database = try make("db", mode: 0o755)
    let pending = try make("db/pending-serialized-dumps", mode: 0o755)
    for age in 1...3 {
      let path = "\(pending)/HandlerOnlyVictim@\(ReportID())"
      try Data(repeating: 1, count: 5000).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -Double(age) * 60)], ofItemAtPath: path)
    }
    let foreign = "\(pending)/HandlerOnlyVictim@\(ReportID())"
    try Data().write(to: URL(fileURLWithPath: foreign))
    try #require(unsafe truncate(foreign, 1 << 40) == 0)
    try #require(unsafe chown(foreign, Self.user, Self.user) == 0)
    let child = try await run([try Self.victim, database, "exit"])
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    #expect(directory.names("db/pending-serialized-dumps").count == 4)
  }

  // MARK: - Setuid

  @Test func aSetuidProgramTellsItsInvokerNothingAndBelievesNothing() async throws {
    let program = directory.path + "/victim"
    try Spawn.copyProgram(try Self.victim, to: program)
    try #require(unsafe chmod(program, 0o4755) == 0)
    let database = directory.path + "/db"
    let child = try await run(
      Self.asUser(Self.user) + [program, database, "abort"],
      environment: [
        "WATCHDOG_USEC": "1234567", "SWIFT_BACKTRACE": "enable=yes", "TMPDIR": "/nowhere",
      ])
    #expect(child.end.signal == SIGABRT)
    #expect(!child.standardError.contains("SIGABRT"), "\(child.standardError)")
    #expect(mode(database).mode == 0o700 && mode(database).user == 0)
    let processed = try processIntermediateDumps(database: database)
    #expect(processed.map(\.outcome) == [.complete])
    let shown = try await run([
      try Self.tool, "show", "--database", database, "\(processed[0].reportID)",
    ])
    #expect(shown.end.exitCode == 0 && !shown.standardOutput.contains("1.23"), "\(shown)")
  }
}
