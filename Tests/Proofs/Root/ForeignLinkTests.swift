import CrashReportDatabase
import CrashTestSupport
import Glibc
import Testing

/// A database whose path leads through a symbolic link of another user.
@Suite(.enabled("needs root, to change the owner of a link") { geteuid() == 0 })
struct ForeignLinkTests {
  @Test func anotherUsersLinkIsRefused() throws {
    let directory = try SharedDirectory()
    try #require(unsafe mkdir(directory.path + "/real", 0o700) == 0)
    try #require(unsafe symlink("real", directory.path + "/link") == 0)
    try #require(unsafe lchown(directory.path + "/link", 12345, 12345) == 0)
    let error = try #require(throws: CrashReportDatabaseError.self) {
      _ = try CrashReportDatabase(path: directory.path + "/link")
    }
    #expect(error.code == .foreignOwner)
    #expect(error.description.contains("12345"))
    #expect(error.description.contains("choose another path"))
  }
}
