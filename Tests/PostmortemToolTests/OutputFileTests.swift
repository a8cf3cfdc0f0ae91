import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// The file that `-o` names is complete, or as it was before.
@Suite struct OutputFileTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  private func path(_ name: String) -> String { directory.path + "/" + name }

  private func text(_ name: String) -> String? {
    directory.bytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  private func status(_ name: String) throws -> stat {
    var status = stat()
    try #require(unsafe lstat(path(name), &status) == 0)
    return status
  }

  @Test func aNewFileReplacesTheOldOneWhenItIsComplete() throws {
    try directory.put(Array("old".utf8), "file")
    let before = try status("file")
    try OutputFile.replace(path("file")) { descriptor throws(ToolError) in
      try Output.write(Array("new".utf8)[...], to: descriptor, named: "file")
      #expect(text("file") == "old")
      #expect(directory.names().filter { !$0.hasPrefix(".postmortem-") } == ["file"])
    }
    #expect(text("file") == "new" && directory.names() == ["file"])
    #expect(try status("file").st_ino != before.st_ino)
    try OutputFile.write("first", to: path("other"))
    #expect(text("other") == "first" && directory.names() == ["file", "other"])
  }

  @Test func afterAFailureTheOldFileIsAsBefore() throws {
    try directory.put(Array("old".utf8), "file")
    for name in ["file", "missing"] {
      #expect(throws: ToolError("enough")) {
        try OutputFile.replace(path(name)) { descriptor throws(ToolError) in
          try Output.write(Array("new".utf8)[...], to: descriptor, named: "file")
          throw ToolError("enough")
        }
      }
    }
    #expect(text("file") == "old" && directory.names() == ["file"])
  }

  @Test func permissionsOwnerAndGroupStay() throws {
    try directory.put(Array("old".utf8), "file")
    // Only root may give files to anyone.
    let isGiven = unsafe chown(path("file"), 7, 8) == 0
    let (user, group): (uid_t, gid_t) = isGiven ? (7, 8) : (getuid(), getgid())
    for mode: mode_t in [0o600, 0o640, 0o666, 0o751] {
      try #require(unsafe chmod(path("file"), mode) == 0)
      try OutputFile.write("\(mode)", to: path("file"))
      let status = try status("file")
      #expect(text("file") == "\(mode)" && status.st_mode & 0o7777 == mode)
      #expect(status.st_uid == user && status.st_gid == group)
    }
    let mask = umask(0)
    umask(mask)
    try OutputFile.write("", to: path("new"))
    #expect(try status("new").st_mode & 0o777 == 0o666 & ~mask)
  }

  @Test func aLinkLeadsToTheFileThatIsReplaced() throws {
    try FileManager.default.createDirectory(
      atPath: path("real"), withIntermediateDirectories: false)
    try directory.put(Array("old".utf8), "real/file")
    for (link, target) in [
      ("direct", "real/file"), ("absolute", path("real/file")), ("twice", "direct"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: path(link), withDestinationPath: target)
      try OutputFile.write(link, to: path(link))
      #expect(text("real/file") == link && directory.names("real") == ["file"])
      #expect(try status(link).st_mode & S_IFMT == S_IFLNK)
    }
    // The file that a link leads to is not created.
    try FileManager.default.createSymbolicLink(
      atPath: path("dangling"), withDestinationPath: "nothing")
    #expect(throws: ToolError(path: path("dangling"), "No such file or directory")) {
      try OutputFile.write("text", to: path("dangling"))
    }
    #expect(directory.names() == ["absolute", "dangling", "direct", "real", "twice"])
  }

  @Test func whatIsNoFileIsWrittenInto() throws {
    #expect(throws: ToolError(path: "/dev/full", "No space left on device")) {
      try OutputFile.write("text", to: "/dev/full")
    }
    try OutputFile.write("text", to: "/dev/null")
    var kind = stat()
    #expect(unsafe stat("/dev/null", &kind) == 0 && kind.st_mode & S_IFMT == S_IFCHR)
    #expect(throws: ToolError(path: directory.path, "Is a directory")) {
      try OutputFile.write("text", to: directory.path)
    }
    try #require(unsafe mkfifo(path("fifo"), 0o600) == 0)
    let reader = unsafe open(path("fifo"), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    try OutputFile.write("text", to: path("fifo"))
    var bytes = [UInt8](repeating: 0, count: 100)
    #expect(unsafe read(reader, &bytes, 100) == 4)
    #expect(try status("fifo").st_mode & S_IFMT == S_IFIFO && directory.names() == ["fifo"])
  }

  /// Runs `manual`, or another command, in a shell.
  private func shell(_ script: String) async throws -> ChildProcess {
    try await ChildProcess.run(
      "/bin/sh", ["-c", script, try BuiltProducts.besideTests("postmortem")], in: directory.path)
  }

  private func dump() throws {
    let header = Array("PMDUMP\r\n".utf8) + [1, 0, 1, 8, 32, 0, 0, 0]
    try directory.put(header + [UInt8](repeating: 0, count: 16), "dump")
  }

  @Test func theNameOfAnOpenFileMeansTheOpenFile() async throws {
    try dump()
    let report = try await shell("$0 show ./dump").standardOutput
    for (name, redirection) in [
      ("/dev/stdout", ""), ("/dev/fd/1", ""), ("/dev/fd/5", "5>&1"), ("/proc/self/fd/1", ""),
      ("/dev/stderr", "2>&1"),
    ] {
      let child = try await shell(
        "{ echo before; $0 show ./dump -o \(name) \(redirection); echo after; } >out")
      #expect(child.end.exitCode == 0 && child.standardError == "", "\(child)")
      #expect(text("out") == "before\n" + report + "after\n", "\(name)")
      let appended = try await shell("$0 show ./dump -o \(name) >>out \(redirection)")
      #expect(appended.end.exitCode == 0)
      #expect(text("out") == "before\n" + report + "after\n" + report, "\(name)")
    }
    let full = try await shell("$0 show ./dump -o /dev/stdout >/dev/full")
    #expect(full.end.exitCode == 1)
    #expect(full.standardError == "postmortem: /dev/stdout: No space left on device\n")
  }

  /// The limit on file sizes ends a process with a signal, in the middle of its file.
  @Test func aSignalLeavesTheOldFileAndNothingElse() async throws {
    try dump()
    try directory.put(Array("old".utf8), "file")
    let page = try await shell("$0 show ./dump --html").standardOutput
    try #require(page.utf8.count > 4096)
    for name in ["file", "missing"] {
      let limited = try await shell("ulimit -f 4; exec $0 show ./dump --html -o \(name)")
      #expect(limited.end.signal == SIGXFSZ, "\(limited)")
    }
    #expect(text("file") == "old" && directory.names() == ["dump", "file"])
    let complete = try await shell("exec $0 show ./dump --html -o file")
    #expect(complete.end.exitCode == 0 && text("file") == page)
  }
}
