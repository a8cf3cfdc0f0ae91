import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@Suite struct HostileDirectoryTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  private func refusal(_ path: String) -> CrashReportDatabaseError? {
    do throws(CrashReportDatabaseError) {
      _ = try CrashReportDatabase(path: path)
      return nil
    } catch {
      return error
    }
  }

  @Test func whatIsNoDirectoryIsRefused() throws {
    try directory.put([], "file")
    try #require(unsafe mkfifo(directory.path + "/fifo", 0o600) == 0)
    try #require(unsafe symlink("file", directory.path + "/link") == 0)
    for name in ["file", "fifo", "link", "file/"] {
      let error = try #require(refusal(directory.path + "/" + name))
      #expect(error.code == .notADirectory)
      #expect(error.description.contains("give a directory"))
    }
    #expect(refusal("")?.code == .invalidPath)
    #expect(refusal("a\u{0}b")?.code == .invalidPath)
    #expect(refusal(directory.path + "/file/below")?.errno == ENOTDIR)
    #expect(
      refusal(directory.path + "/" + String(repeating: "x", count: 300))?.errno == ENAMETOOLONG)
    #expect(refusal("/proc/db")?.code == .fileSystemError)
  }

  @Test func aLinkOfOnesOwnIsFollowedAndASubdirectoryLinkIsNot() throws {
    try #require(unsafe mkdir(directory.path + "/real", 0o700) == 0)
    try #require(unsafe symlink("real", directory.path + "/link") == 0)
    #expect(refusal(directory.path + "/link") == nil)
    try FileManager.default.removeItem(atPath: directory.path + "/real/pending")
    try #require(unsafe symlink("/tmp", directory.path + "/real/pending") == 0)
    #expect(refusal(directory.path + "/link")?.code == .notADirectory)
  }

  @Test func foreignAndDamagedFilesAreLeftOut() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let (good, torn, id) = (ReportID(), ReportID(), ReportID())
    let outside = try SharedDirectory()
    try outside.put([1], "\(id).dmp")
    let pending = directory.path + "/pending/"
    try directory.put([1, 2], "pending/\(good).dmp")
    try directory.put([1], "pending/\(torn).dmp")
    try directory.put([1, 0, 0], "pending/\(torn).meta")
    try #require(unsafe mkfifo(pending + "\(good).meta", 0o600) == 0)
    try #require(unsafe symlink(outside.path + "/\(id).dmp", pending + "\(id).dmp") == 0)
    try #require(unsafe mkdir(pending + "\(ReportID()).dmp", 0o700) == 0)
    try #require(unsafe mkfifo(pending + "\(ReportID()).dmp", 0o600) == 0)
    for name in [
      "a\nb.dmp", "\(ReportID())\n.dmp", ".dmp", "\(ReportID())", "\(ReportID()).DMP",
      "\(ReportID())".uppercased() + ".dmp", "-rf.dmp",
    ] {
      try directory.put([1], "pending/\(name)")
    }
    let notUTF8: [CChar] = pending.utf8.map { CChar($0) } + [-1, -2, 0]
    let descriptor = unsafe open(notUTF8, O_CREAT | O_WRONLY, 0o600)
    try #require(descriptor >= 0)
    close(descriptor)
    #expect(Set(try database.reports().map(\.id)) == [good, torn])
    let report = try #require(try database.report(torn))
    #expect(report.creationTime.seconds > 1_600_000_000, "the file's own time")
    #expect(try database.report(id) == nil)
    // No file was changed.
    #expect(directory.names("pending").count == 4 + 1 + 1 + 1 + 7 + 1)
    #expect(outside.bytes("\(id).dmp") == [1])
  }

  @Test func namesInTheWayOfAnotherKindAreNotReplaced() throws {
    let database = try CrashReportDatabase(path: directory.path)
    let id = ReportID()
    try #require(unsafe mkdir(directory.path + "/pending/\(id).dmp", 0o700) == 0)
    #expect(throws: CrashReportDatabaseError.self) { _ = try database.prepareNewReport(id) }
    let other = ReportID()
    try #require(unsafe symlink("/etc/passwd", directory.path + "/new/\(other).dmp") == 0)
    try database.prepareNewReport(other).finish()
    #expect(try database.report(other)?.size == 0)
  }
}
