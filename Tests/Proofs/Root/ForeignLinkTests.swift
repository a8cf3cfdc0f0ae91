import CrashReportDatabase
import CrashTestSupport
import Glibc
import Testing

/// A database behind a link that belongs to another user.
@Suite(.enabled("needs root, to change the owner of a link") { geteuid() == 0 })
struct ForeignLinkTests {
  @Test func anotherUsersLinkIsRefused() throws {
    let folder = try SharedFolder()
    try #require(unsafe mkdir(folder.path + "/real", 0o700) == 0)
    try #require(unsafe symlink("real", folder.path + "/link") == 0)
    try #require(unsafe lchown(folder.path + "/link", 12345, 12345) == 0)
    let error = try #require(throws: CrashReportDatabaseError.self) {
      _ = try CrashReportDatabase(path: folder.path + "/link")
    }
    #expect(error.code == .foreignOwner)
    #expect(error.description.contains("12345"))
    #expect(error.description.contains("choose another path"))
  }
}
