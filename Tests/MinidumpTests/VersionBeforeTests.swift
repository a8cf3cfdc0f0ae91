import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// Minidumps that the version before wrote of made-up processes, in which it kept what has no standard
/// place in the streams 0x504D0001 and 0x504D0002: read as that version read them.
@Suite struct VersionBeforeTests {
  private static let symbols = StoredSymbols(functions: [
    0x40_1000: [
      .init(
        linkageName: "Swift runtime failure: Index out of range", isInlined: true,
        file: "/a/ü.swift", line: 0xFFFF_FFFF, column: 1),
      .init(
        linkageName: "$s3App4mainyyF", offset: 1 << 40, file: "", line: 3, isLineApproximate: true),
    ],
    0x40_2000: [.init(linkageName: "")],
  ])

  private static func bytes(_ name: String) throws -> [UInt8] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    return Array(
      try Data(contentsOf: directory.appendingPathComponent("VersionBefore/\(name).dmp")))
  }

  @Test func everyFieldIsRead() throws {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.storedSymbols = Self.symbols
    snapshot.dumpDigest = 0x0123_4567_89AB_CDEF
    // That version asked the kernel for each call.
    for index in snapshot.threads.indices { snapshot.threads[index].systemCallSource = nil }
    // Nor did it record throws.
    snapshot.recordedThrows = []
    // Nor did it ask for the surroundings.
    (snapshot.system.hostName, snapshot.system.timeZone) = (nil, nil)
    (snapshot.system.containerMount, snapshot.process.workingDirectory) = (nil, nil)
    snapshot.process.descriptors = []
    let read = try MinidumpReader.snapshot(of: Self.bytes("symbols"))
    #expect(read.process == snapshot.process)
    #expect(read.system == snapshot.system)
    #expect(read.exception == snapshot.exception)
    #expect(read.threads == snapshot.threads)
    #expect(read.modules == snapshot.modules)
    #expect(read.memory == snapshot.memory)
    #expect(read.annotations == snapshot.annotations)
    #expect(read == snapshot)
  }

  @Test func arm64IsRead() throws {
    let read = try MinidumpReader.snapshot(of: Self.bytes("arm64"))
    #expect(read == SyntheticProcess.arm64Snapshot())
  }

  @Test func damageOfItsStreamsIsToldAndAddsNothingWrong() throws {
    let bytes = try Self.bytes("symbols")
    let dump = DumpBytes(bytes)
    for (type, index) in zip(dump.streamTypes, 0...) where type >> 16 == 0x504D {
      let entry = 32 + 12 * index
      // Cut in the stream, all that comes before the cut is kept.
      for cut in stride(from: 0, to: dump.u32(entry + 4), by: 7) {
        var torn = bytes
        torn.replaceSubrange(entry + 4..<entry + 8, with: littleEndian(UInt64(cut), 4))
        let read = try MinidumpReader.snapshot(of: torn)
        #expect(read.capture.damage != nil && !read.capture.isComplete)
        #expect(read.exception?.signal == 11 && read.threads.count == 4)
        for (address, functions) in read.storedSymbols?.functions ?? [:] {
          #expect(functions == Self.symbols.functions[address])
        }
      }
    }
  }
}
