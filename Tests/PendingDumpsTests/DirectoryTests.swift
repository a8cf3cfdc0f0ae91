import CrashTestSupport
import Testing

@testable import PendingDumps

@Suite struct DirectoryTests {
  @Test func anUnlinkedFileHasNoNameBeforeItIsLinked() throws {
    let directory = try SharedDirectory()
    let opened = try Directory(path: directory.path)
    do {
      let lost = try opened.createUnlinked("file")
      try lost.write([1])
    }
    #expect(try opened.names().isEmpty)
    let file = try opened.createUnlinked("file")
    try file.write([1, 2])
    #expect(try opened.names().isEmpty)
    try opened.link(file)
    #expect(try opened.names() == [file.name])
    #expect(directory.bytes(file.name) == [1, 2])
  }

  /// On a file system without unlinked files, the file has its name from the start.
  @Test func aFileThatHasItsNameIsLinked() throws {
    let directory = try SharedDirectory()
    let opened = try Directory(path: directory.path)
    let file = try opened.createTemporary("file")
    try opened.link(file)
    #expect(try opened.names() == [file.name])
  }
}
