import CrashTestSupport
import Foundation
import Glibc
import PostmortemTool
import Testing

/// Root uses the databases of other users: nothing that root does there locks these users out.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct RootCommandTests {
  /// A user that no system has.
  private static let user: UInt32 = 12_345
  private let directory: SharedDirectory
  private var home: String { directory.path + "/home" }
  private var database: String { home + "/db" }

  init() throws {
    directory = try SharedDirectory()
    try FileManager.default.createDirectory(
      atPath: directory.path + "/home", withIntermediateDirectories: false)
    // The user needs access to the directory.
    try #require(unsafe chmod(directory.path, 0o755) == 0)
    try #require(unsafe chown(directory.path + "/home", Self.user, Self.user) == 0)
  }

  private static let asUser = [
    "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups",
  ]

  private func run(_ words: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(
      words[0], Array(words.dropFirst()), in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  private func tool(_ words: String...) async throws -> ChildProcess {
    try await run([try BuiltProducts.besideTests("postmortem")] + words)
  }

  /// Runs a program of the unprivileged user, which crashes, and first processes the dumps of its earlier runs.
  private func victim(_ deed: String, asRoot: Bool = false) async throws -> ChildProcess {
    try await run(
      (asRoot ? [] : Self.asUser) + [
        try BuiltProducts.besideTests("crash-lab"), "process-itself", deed, "--database", database,
      ])
  }

  /// The owners of all files in the database that do not belong to the user, by path.
  private var foreign: [String] {
    let names = FileManager.default.enumerator(atPath: database)?.allObjects ?? []
    return names.compactMap { name in
      var status = stat()
      guard let name = name as? String,
        unsafe lstat(database + "/" + name, &status) == 0, status.st_uid != Self.user
      else { return nil }
      return "\(name) of \(status.st_uid)"
    }
  }

  /// The kernel shows a process that is not dumpable only to root.
  @Test func ofAProcessThatIsNotDumpableItsUserIsNotToldToBeItsUser() async throws {
    let words =
      Self.asUser + [
        try BuiltProducts.besideTests("crash-lab"), "live-dump", "undumpable", "--database",
        database,
      ]
    let victim = try RunningVictim(words[0], Array(words.dropFirst()))
    try victim.waitForLine("ready")
    let doctor = [try BuiltProducts.besideTests("postmortem"), "doctor", "\(victim.processID)"]
    let own = try await run(Self.asUser + doctor)
    #expect(own.end.exitCode == 2 && own.standardError.contains("it is not dumpable"), "\(own)")
    #expect(!own.standardError.contains("run as its user"), "\(own)")
    let other = try await run(
      ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + doctor)
    #expect(other.standardError.contains("run as its user or as root"), "\(other)")
    #expect(try await run(doctor).end.exitCode == 0)
  }

  /// Such a `/proc` has no boot ID, which a later start needs to distinguish a kill from a reboot.
  @Test func ofAProcessWhoseProcHasProcessesOnlyNoReportIsPromised() async throws {
    let victim = try RunningVictim(
      "/usr/bin/unshare",
      [
        "--mount", "sh", "-c", "mount -t proc -o subset=pid proc /proc && exec \"$@\"", "sh",
        try BuiltProducts.besideTests("crash-lab"), "live-dump", "obeying", "--database", database,
      ])
    try victim.waitForLine("ready")
    let doctor = try await tool("doctor", "\(victim.processID)")
    #expect(doctor.end.exitCode == 0, "\(doctor)")
    let note =
      "a SIGKILL now would leave no report: its /proc does not contain the boot ID (mount option subset=pid)"
    #expect(doctor.standardOutput.contains(note), "\(doctor)")
    #expect(!doctor.standardOutput.contains("reboot"), "\(doctor)")
  }

  @Test(arguments: ["process", "run"])
  func theUserGoesOnAfterwards(command: String) async throws {
    #expect(try await victim("abort").end.signal == SIGABRT)
    if command == "process" {
      let child = try await tool("process", database)
      #expect(child.end.exitCode == 0 && child.standardOutput.contains(": SIG"))
    } else {
      let child = try await tool(
        "run", "--database", database, "--user", "\(Self.user)", "--", "true")
      #expect(child.end.exitCode == 0 && child.standardError.contains(": SIG"))
    }
    #expect(foreign == [])
    // The user's next runs can use the database.
    #expect(try await victim("abort").end.signal == SIGABRT)
    let next = try await victim("exit")
    #expect(next.end.exitCode == 0, "\(next.standardError)")
    #expect(next.standardOutput.contains(": SIG"))
    #expect(foreign == [])
  }

  @Test func attachmentsAreOpenedAsTheUser() async throws {
    // The user can write any dump, so the files that it names are opened with the user's rights.
    let secret = directory.path + "/secret"
    try directory.put(Array("secret".utf8), "secret")
    try #require(unsafe chmod(secret, 0o600) == 0)
    let open = home + "/log"
    try directory.put(Array("log".utf8), "home/log")
    try #require(unsafe chown(open, Self.user, Self.user) == 0)
    let child = try await run(
      Self.asUser + [
        try BuiltProducts.besideTests("HandlerOnlyVictim"), database, "abort", secret, open,
      ])
    #expect(child.end.signal == SIGABRT)
    #expect(try await tool("process", database).end.exitCode == 0)
    let ids = directory.names("home/db/attachments")
    #expect(ids.count == 1)
    #expect(directory.names("home/db/attachments/\(ids.first ?? "")") == ["log"])
    #expect(foreign == [])
  }

  @Test func theProcessStaysWhatItIs() async throws {
    #expect(try await victim("abort").end.signal == SIGABRT)
    // It prints its user before and after the change; a process that is not dumpable leaves no core file.
    let child = try await run(
      [
        try BuiltProducts.besideTests("crash-lab"), "process", "--database", database,
        "--show-identity",
      ])
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.tellsAWholeDump }, "\(lines)")
    let identities = lines.filter { $0.hasPrefix("identity ") }
    #expect(identities.count == 2 && identities.first == identities.last, "\(identities)")
    #expect(identities.first?.hasSuffix(" dumpable 1") == true)
  }

  @Test func filesOfRootsHandlerAreTheUsers() async throws {
    // The program starts as root with the user's database, like a program that later drops its privileges.
    try #require(unsafe mkdir(database, 0o700) == 0)
    try #require(unsafe chown(database, Self.user, Self.user) == 0)
    for deed in ["abort", "child-crashes"] {
      _ = try await run([try BuiltProducts.besideTests("HandlerOnlyVictim"), database, deed])
      #expect(foreign == [], "\(deed)")
    }
    let next = try await victim("exit")
    #expect(next.standardOutput.split(separator: "\n").count { $0.tellsAWholeDump } == 2)
  }

  // MARK: - run

  @Test func theDatabaseIsMadeForTheUserThatTheCommandWillHave() async throws {
    let path = directory.path + "/data/crashes"
    let command =
      Self.asUser + [
        try BuiltProducts.besideTests("crash-lab"), "process-itself", "abort", "--database", path,
      ]
    let refused = try await run(
      [try BuiltProducts.besideTests("postmortem"), "run", "--database", path, "--"] + command)
    #expect(refused.end.exitCode == 64)
    #expect(refused.standardError.contains("'setpriv' switches the user of the command"))
    #expect(refused.standardError.contains("--user NAME"))
    #expect(directory.names() == ["home"], "nothing was run")
    for turn in 1...2 {
      let child = try await run(
        [
          try BuiltProducts.besideTests("postmortem"), "run", "--database", path, "--user",
          "\(Self.user)", "--",
        ] + command)
      #expect(child.end.signal == SIGABRT, "\(child.standardError)")
      #expect(child.standardError.contains(": SIG"))
      #expect(directory.names("data/crashes/pending").count == 2 * turn)
    }
    var status = stat()
    #expect(unsafe stat(path, &status) == 0 && status.st_uid == Self.user)
  }

  @Test func itRefusesWhereItSeesThatTheUsersDiffer() async throws {
    try #require(unsafe mkdir(database, 0o700) == 0)
    try #require(unsafe chown(database, Self.user, Self.user) == 0)
    let others = try await tool("run", "--database", database, "--", "true")
    #expect(others.end.exitCode == 64)
    #expect(others.standardError.contains("belongs to \(Self.user), and root runs this command"))
    #expect(others.standardError.contains("use --user \(Self.user)"))
    let wrong = try await tool("run", "--database", database, "--user", "54321", "--", "true")
    #expect(wrong.end.exitCode == 64)
    #expect(wrong.standardError.contains("belongs to \(Self.user), not to 54321"))
    let unknown = try await tool("run", "--database", database, "--user", "no such", "--", "true")
    #expect(unknown.end.exitCode == 64)
    #expect(try await tool("run", "--user", "root", "--", "true").end.exitCode == 64)
    let program = try BuiltProducts.besideTests("postmortem")
    let notRoot = try await run(
      Self.asUser + [program, "run", "--database", database, "--user", "54321", "--", "true"])
    #expect(notRoot.end.exitCode == 64)
    #expect(notRoot.standardError.contains("only root"))
    // If root's command uses root's database, no users differ.
    let own = directory.path + "/own"
    try #require(unsafe mkdir(own, 0o700) == 0)
    #expect(try await tool("run", "--database", own, "--", "true").end.exitCode == 0)
  }

  @Test func itTellsAfterwardsThatTheUsersDiffered() async throws {
    // The program drops its privileges itself, which the command cannot know in advance.
    let path = directory.path + "/own"
    try #require(unsafe mkdir(path, 0o700) == 0)
    let script =
      "exec setpriv --reuid=\(Self.user) --regid=\(Self.user) --clear-groups /bin/true"
    let child = try await tool("run", "--database", path, "--", "/bin/sh", "-c", script)
    #expect(child.end.exitCode == 0)
    #expect(child.standardError.contains("the command ended as user \(Self.user)"))
    #expect(child.standardError.contains("chown -R \(Self.user)"))
  }

  @Test func whatRootMadeBeforeIsNamed() async throws {
    #expect(try await victim("abort").end.signal == SIGABRT)
    // A copy that root made has directories like these.
    for name in ["new", "pending", "completed", "attachments"] {
      try #require(unsafe chown(database + "/" + name, 0, 0) == 0)
    }
    let child = try await tool("process", database)
    #expect(child.end.exitCode == 1)
    #expect(child.standardError.contains("chown -R \(Self.user):\(Self.user) \(database)"))
  }
}
