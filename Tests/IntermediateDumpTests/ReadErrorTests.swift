import Foundation
import Glibc
import IntermediateDump
import Testing

/// A read error is not treated as the end of the data.
@Suite struct ReadErrorTests {
  /// A file that is truncated while it is being read.
  private func shortenedFile(_ bytes: [UInt8], by count: Int) throws -> IntermediateDump.DumpBytes {
    let path = NSTemporaryDirectory() + "/read-error-" + UUID().uuidString
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { unsafe unlink(path) }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let opened: IntermediateDump.DumpBytes? = .init(descriptor: descriptor, count: bytes.count)
    let dump = try #require(opened)
    try #require(unsafe truncate(path, off_t(bytes.count - count)) == 0)
    return dump
  }

  @Test func aDumpWhoseFileCannotBeReadToItsEndSaysSoAndIsNotOnlyTorn() throws {
    let bytes = try #require(
      IntermediateDumpEncoding.encode(sizeHint: 4 << 20) { writer in
        writer.header()
        writer.startArray(.threads)
        for number in 0..<20_000 {
          writer.startMap(.thread)
          writer.unsigned(.threadID, UInt64(number), width: 4)
          writer.end()
        }
        writer.end()
        _ = writer.endDocument()
      })
    let dump = try shortenedFile(bytes, by: 100_000)
    let document = try IntermediateDumpDocument(parsing: dump)
    #expect(!document.isComplete)
    #expect(dump.readError == EIO)
  }

  @Test func aDumpThatIsReadToItsEndHasNoErrorThoughBytesOutsideItWereAskedFor() throws {
    let dump = try shortenedFile([UInt8](repeating: 7, count: 1000), by: 0)
    #expect(dump.slice(0..<1000)?.count == 1000 && dump.slice(0..<1001) == nil)
    #expect(dump.readError == 0)
  }

  @Test func aMissingFileIsNoRefusalALackOfDescriptorsIsOne() async {
    for error in [ENOENT, EACCES, EPERM, ESRCH, ENOTDIR] {
      #expect(!SystemRefusals.isPassing(error))
    }
    // In a process of its own: the conversions of other tests would take the refusal for theirs.
    await #expect(processExitsWith: .success) {
      let before = SystemRefusals.now
      SystemRefusals.note(EMFILE)
      #expect(before.refusalSince == EMFILE)
    }
  }
}
