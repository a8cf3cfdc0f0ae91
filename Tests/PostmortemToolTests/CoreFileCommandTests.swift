import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// Core files on the command line; `CoreReportTests` in Tests/Proofs tests those of real crashes.
@Suite final class CoreFileCommandTests {
  private let directory = try! TemporaryDirectory()

  /// A core file with one thread that got SIGSEGV, and nothing else.
  private static var core: [UInt8] {
    var status = [UInt8](repeating: 0, count: 336)
    status[12] = 11
    status[32] = 77
    var note: [UInt8] = []
    for word: UInt32 in [5, UInt32(status.count), 1] { note.append(littleEndian: word) }
    note += Array("CORE\0\0\0\0".utf8) + status
    var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    for half: UInt16 in [4, 62] { bytes.append(littleEndian: half) }
    bytes.append(littleEndian: UInt32(1))
    for word: UInt64 in [0, 64, 0] { bytes.append(littleEndian: word) }
    bytes.append(littleEndian: UInt32(0))
    for half: UInt16 in [64, 56, 1, 64, 0, 0] { bytes.append(littleEndian: half) }
    for word: UInt32 in [4, 0] { bytes.append(littleEndian: word) }
    for word: UInt64 in [120, 0, 0, UInt64(note.count), 0, 4] { bytes.append(littleEndian: word) }
    return bytes + note
  }

  private func write(_ bytes: [UInt8], _ name: String) throws -> String {
    let path = directory.path + "/" + name
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func run(
    _ arguments: [String], path: String = "/usr/bin:/bin"
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), arguments, in: directory.path,
      environment: ["PATH": path, "TMPDIR": directory.path])
  }

  @Test func aCoreFileIsShownInAllForms() async throws {
    let path = try write(Self.core, "anything")
    let text = try await run(["show", path])
    #expect(text.end.exitCode == 0 && text.standardOutput.contains("Thread 77 crashed"), "\(text)")
    let json = try await run(["show", "--json", path])
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(json.standardOutput.utf8)) as? [String: Any])
    #expect(report["complete"] as? Bool == true && report["reportID"] is String)
    let page = try await run(["show", "--html", path])
    #expect(page.end.exitCode == 0 && page.standardOutput.hasPrefix("<!DOCTYPE html>"))
  }

  @Test func theProgramThatReadsACompressedOneIsNamed() async throws {
    for (magic, name) in [
      ([0x28, 0xB5, 0x2F, 0xFD], "zstd"), ([0x04, 0x22, 0x4D, 0x18], "lz4"),
      (Array("BZh9".utf8), "bzip2"),
    ] as [([UInt8], String)] {
      let path = try write(magic + [UInt8](repeating: 0, count: 64), "core." + name)
      let child = try await run(["show", path], path: directory.path)
      #expect(child.end.exitCode == 1)
      #expect(child.standardError.contains("install the program \(name)"), "\(child)")
    }
    // No temporary file is left.
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 3)
  }

  @Test func whatIsNoneIsSaid() async throws {
    var other = Self.core
    other[18] = 243
    let machine = try await run(["show", try write(other, "core.other")])
    #expect(machine.end.exitCode == 1 && machine.standardError.contains("machine 243"))
    let cut = try await run(["show", try write(Array(Self.core.prefix(130)), "core.cut")])
    #expect(cut.end.exitCode == 1 && cut.standardError.contains("the core file is cut off"))
  }

  @Test func coreFilesOfADirectoryBecomeReportsOnce() async throws {
    let cores = try directory.subdirectory("cores")
    try Data(Self.core).write(to: URL(fileURLWithPath: cores + "/core.77"))
    try Data("text".utf8).write(to: URL(fileURLWithPath: cores + "/notes"))
    let database = directory.path + "/database"
    for _ in 0..<2 {
      let child = try await run(["process", "--create", "--cores", cores, database + "/"])
      #expect(child.end.exitCode == 0 && child.standardOutput.contains("core.77"), "\(child)")
      #expect(!child.standardOutput.contains("notes"))
    }
    let reports = try FileManager.default.contentsOfDirectory(atPath: database + "/pending")
    #expect(reports.filter { $0.hasSuffix(".dmp") }.count == 1)
    #expect(FileManager.default.fileExists(atPath: cores + "/core.77"))
  }

  /// No report is made of a core file that is still being written, however long ago the last write was.
  @Test func watchMakesAReportOfACoreFileThatComes() async throws {
    let cores = try directory.subdirectory("watched-cores")
    let database = directory.path + "/watched"
    try Data(Self.core).write(to: URL(fileURLWithPath: cores + "/core.77"))
    try Data(Self.core).write(to: URL(fileURLWithPath: cores + "/copy.77"))
    try Data("text".utf8).write(to: URL(fileURLWithPath: cores + "/notes"))
    var other = Self.core
    other[64 + 56 + 20 + 32] = 78
    let file = try FileHandle(
      forWritingTo: URL(fileURLWithPath: try write([], "watched-cores/another.78")))
    try file.write(contentsOf: other.prefix(200))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -3600)],
      ofItemAtPath: cores + "/another.78")
    let watch = try RunningVictim(
      try BuiltProducts.besideTests("postmortem"),
      ["watch", "--create", "--count", "2", "--cores", cores, database + "/"])
    // The pass that found this file saw the other one first.
    try watch.waitForLine { $0.contains("77") }
    try file.write(contentsOf: other.dropFirst(200))
    try file.close()
    try watch.waitForLine { $0.contains("another.78") }
    #expect(watch.waitForEnd() == 0)
    let reports = try await run(["list", "--json", database + "/"])
    #expect(reports.standardOutput.components(separatedBy: "reportID").count - 1 == 2)
    #expect(!reports.standardOutput.contains("\"torn\""), "\(reports)")
    let missing = try await run(["watch", "--cores", directory.path + "/none", database + "/"])
    #expect(missing.end.exitCode == 1 && missing.standardError.contains("/none: "), "\(missing)")
  }

  /// The other core files are still processed.
  @Test func aCoreFileThatCannotBeReadIsNamed() async throws {
    let cores = try directory.subdirectory("unreadable")
    try Data(Self.core).write(to: URL(fileURLWithPath: cores + "/core.77"))
    // A link to itself, which not even root can open.
    try FileManager.default.createSymbolicLink(
      atPath: cores + "/core.1", withDestinationPath: "core.1")
    _ = try directory.subdirectory("unreadable/subdirectory")
    let child = try await run([
      "process", "--create", "--cores", cores, directory.path + "/other-database/",
    ])
    #expect(child.end.exitCode == 1, "\(child)")
    #expect(child.standardError.contains("core.1: "), "\(child.standardError)")
    #expect(child.standardOutput.contains("core.77"))
  }

  /// For each, one line on standard error names it before the line with their number, and the exit status is 1.
  @Test func whatMayHoldCoreFilesButIsNotReadIsNamed() async throws {
    let cores = try directory.subdirectory("mixed")
    try Data(Self.core).write(to: URL(fileURLWithPath: cores + "/core.77"))
    let database = directory.path + "/mixed-database/"
    let good = try await run(["process", "--create", "--cores", cores, database])
    #expect(good.end.exitCode == 0 && good.standardError.isEmpty, "\(good)")
    let apport = cores + "/_usr_bin_web.1000.crash"
    for (name, text) in [
      (apport, "ProblemType: Crash\nArchitecture: amd64\nCoreDump: base64\n"),
      (cores + "/vmcore", "KDUMP   " + String(repeating: "x", count: 64)),
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: name))
    }
    _ = try directory.subdirectory("mixed/2026-11-29")
    let child = try await run(["process", "--cores", cores, database])
    let lines = child.standardError.split(separator: "\n")
    #expect(child.end.exitCode == 1 && lines.count == 4, "\(child)")
    for (name, hint) in [
      (apport, "apport-unpack"), (cores + "/vmcore", "kernel"), (cores + "/2026-11-29", "--cores"),
    ] {
      #expect(lines.contains { $0.contains(name + ": ") && $0.contains(hint) }, "\(lines)")
    }
    let shown = try await run(["show", apport])
    #expect(shown.end.exitCode == 1 && shown.standardError.contains("apport-unpack"), "\(shown)")
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/bzip2")))
  func aCoreFileCompressedWithBzip2IsShown() async throws {
    let path = try write(Self.core, "core.plain")
    let made = try await ChildProcess.run("/usr/bin/bzip2", [path], in: directory.path)
    try #require(made.end.exitCode == 0)
    let text = try await run(["show", path + ".bz2"])
    #expect(text.end.exitCode == 0 && text.standardOutput.contains("Thread 77 crashed"), "\(text)")
  }
}
