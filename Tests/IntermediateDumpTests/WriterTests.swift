import Foundation
import Glibc
import IntermediateDump
import Testing

@Suite struct WriterTests {
  /// The header with this machine's architecture byte.
  private static var header: [UInt8] {
    var bytes = DumpBytes.header
    #if arch(arm64)
      bytes[10] = 2
    #endif
    return bytes
  }

  @Test func everyTokenIsWrittenAsTheFormatSays() {
    let bytes = IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 0x0102_0304, width: 4)
      writer.unsigned(.userTime, 0x1122_3344_5566_7788)
      writer.unsigned(.captureMethod, 0x7F, width: 1)
      writer.signed(.signalNumber, -2, width: 4)
      writer.signed(.launchTime, .min)
      writer.text(.product, "ä")
      writer.text(.version, nil)
      writer.bytes(.reportID, [])
      writer.end()
      writer.startArray(.modules)
      writer.startMap(.module)
      writer.end()
      writer.end()
      _ = writer.endDocument()
    }
    let expected: [UInt8] =
      Self.header
      + [
        0x02, 0x64, 0x00,
        0x01, 0x65, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x03, 0x02, 0x01,
        0x01, 0x6D, 0x00, 0x08, 0x00, 0x00, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        0x01, 0x95, 0x01, 0x01, 0x00, 0x00, 0x00, 0x7F,
        0x01, 0x2E, 0x01, 0x04, 0x00, 0x00, 0x00, 0xFE, 0xFF, 0xFF, 0xFF,
        0x01, 0x6B, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
        0x01, 0x68, 0x00, 0x02, 0x00, 0x00, 0x00, 0xC3, 0xA4,
        0x01, 0x72, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x03,
        0x04, 0xBC, 0x02, 0x02, 0xBD, 0x02, 0x03, 0x05,
        0x06,
      ]
    #expect(bytes == expected)
  }

  @Test func whatIsOpenIsClosedByTheEnd() throws {
    let bytes = try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        writer.startArray(.threads)
        writer.startMap(.thread)
        writer.startArray(.stack)
        writer.close(toDepth: 1)
        writer.startMap(.thread)
        _ = writer.endDocument()
        // An extra `end` is ignored.
        writer.end()
      })
    #expect(
      bytes.dropFirst(32) == [
        0x04, 0x90, 0x01, 0x02, 0x91, 0x01, 0x04, 0x9B, 0x01, 0x05, 0x03, 0x02, 0x91, 0x01, 0x03,
        0x05, 0x06,
      ])
  }

  @Test func aFilledPlaceIsAPropertyOfWhatWasFilled() {
    let bytes = IntermediateDumpEncoding.encode { writer in
      writer.header()
      if let place = unsafe writer.beginProperty(.regionData, capacity: 100) {
        for index in 0..<3 { unsafe place.storeBytes(of: 7, toByteOffset: index, as: UInt8.self) }
        writer.finishProperty(count: 3)
      }
      // A property that was started and then abandoned leaves nothing in the dump.
      _ = unsafe writer.beginProperty(.regionData, capacity: 100)
      _ = writer.endDocument()
    }
    #expect(
      bytes?.dropFirst(32) == [0x01, 0xF7, 0x01, 0x03, 0x00, 0x00, 0x00, 0x07, 0x07, 0x07, 0x06])
  }

  /// Runs `body` with a writer to a file, and returns its result.
  private func withWriter<Result>(
    to path: String, flags: Int32, capacity: Int = 4096, byteLimit: UInt64 = .max,
    _ body: (inout IntermediateDumpWriter) -> Result
  ) throws -> Result {
    let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    defer {
      unsafe buffer.deallocate()
      close(descriptor)
    }
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: capacity, descriptor: descriptor, byteLimit: byteLimit)
    return body(&writer)
  }

  @Test func aFullDiskIsRememberedAndNothingIsWrittenAfterIt() throws {
    let (end, failure, laterFlush) = try withWriter(to: "/dev/full", flags: O_WRONLY) { writer in
      writer.header()
      let flushed = writer.flush()
      let first = writer.failure
      writer.unsigned(.processID, 1)
      writer.startMap(.process)
      let later = writer.flush()
      let end = writer.endDocument()
      return (flushed || end, (first, writer.failure), later)
    }
    #expect(!end)
    #expect(failure == (ENOSPC, ENOSPC))
    #expect(!laterFlush)
  }

  @Test func aBufferInMemoryThatIsFullIsAFailureToo() {
    let capacity = 4096
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    defer { unsafe buffer.deallocate() }
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: capacity, descriptor: -1, byteLimit: .max)
    writer.header()
    for _ in 0..<1000 { writer.unsigned(.processID, 1) }
    let ended = writer.endDocument()
    let failure = writer.failure
    let count = writer.bufferedCount
    #expect(!ended)
    #expect(failure == ENOBUFS)
    // The file has whole tokens only: 32 + n * 15 bytes.
    #expect((count - 32) % 15 == 0)
    #expect(count <= capacity)
  }

  @Test func longDumpsPassTheBufferWholeAndLimitsCountWhatTheyLeaveOut() throws {
    let path = "/tmp/pm-writer-\(ReportID())"
    defer { unsafe unlink(path) }
    let data = [UInt8](repeating: 0xAB, count: 1000)
    let omitted = try withWriter(
      to: path, flags: O_WRONLY | O_CREAT | O_EXCL, byteLimit: 50_000
    ) { writer in
      writer.header()
      for index in 0..<100 {
        writer.unsigned(.regionAddress, UInt64(index))
        writer.bytes(.regionData, data)
      }
      _ = writer.endDocument()
      return writer.bytesOmitted
    }
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    let addresses = document.root.entries.filter { $0.key == 502 }
    let kept = document.root.entries.count { $0.key == 503 }
    #expect(addresses.count == 100)
    #expect(kept > 40 && kept < 50)
    #expect(omitted == UInt64((100 - kept) * 1000))
    #expect(bytes.count < 52_000)
  }

  @Test func registersAreWrittenPastTheLimitToo() throws {
    let path = "/tmp/pm-writer-\(ReportID())"
    defer { unsafe unlink(path) }
    let omitted = try withWriter(
      to: path, flags: O_WRONLY | O_CREAT | O_EXCL, byteLimit: 40
    ) { writer in
      writer.header()
      writer.bytes(.generalRegisters, [UInt8](repeating: 1, count: 272))
      writer.bytes(.floatingPointState, [UInt8](repeating: 2, count: 512))
      _ = writer.endDocument()
      return writer.bytesOmitted
    }
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete && document.root.entries.count == 1)
    #expect(omitted == 512)
  }
}
