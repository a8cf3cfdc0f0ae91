import CrashTestSupport
import Minidump
import ProcessSnapshot
import Testing

@Suite struct DamageTests {
  @Test func cutAtEveryByte() throws {
    let bytes = try smallMinidump()
    let whole = try MinidumpReader.snapshot(of: bytes)
    #expect(whole.capture.isComplete)
    for count in 0..<bytes.count {
      let read = try? MinidumpReader.snapshot(of: Array(bytes[..<count]))
      #expect((read == nil) == (count < 32))
      // The last stream's bytes end the file, so no shorter file is whole.
      if let read { #expect(!read.capture.isComplete && read.capture.damage != nil) }
    }
  }

  /// Changes every eighth byte by each mask; `DamagedBytesTests` in `Tests/Proofs` changes every byte.
  @Test func everyEighthByteChanged() throws {
    var bytes = try smallMinidump()
    var readable = 0
    let indices = Array(stride(from: 0, to: bytes.count, by: 8))
    for index in indices {
      let mask = [0xFF, 0x80, 0x01][index / 8 % 3] as UInt8
      bytes[index] ^= mask
      if (try? MinidumpReader.snapshot(of: bytes)) != nil { readable += 1 }
      bytes[index] ^= mask
    }
    // Only the signature, the version, the architecture and the fields that lead to it make a file unreadable: 16
    // bytes, of which this loop changes at most 4.
    #expect(readable >= indices.count - 4, "\(indices.count - readable)")
  }

  /// Replaces each word with one of five values.
  @Test func everyWordReplaced() throws {
    let original = try smallMinidump()
    let values: [UInt32] = [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]
    for offset in stride(from: 32, to: original.count - 3, by: 4) {
      var bytes = original
      let value = values[offset / 4 % values.count]
      bytes.replaceSubrange(offset..<offset + 4, with: littleEndian(UInt64(value), 4))
      _ = try? MinidumpReader.snapshot(of: bytes)
    }
  }

  @Test func badStreamIsLeftOutAndTold() throws {
    var bytes = try smallMinidump()
    let dump = DumpBytes(bytes)
    let index = try #require(dump.streamTypes.firstIndex(of: 4))
    // The module list now reaches past the end. This package's own stream still contains the modules.
    bytes[32 + index * 12 + 7] = 0x7F
    #expect(try MinidumpReader.snapshot(of: bytes).modules.count == 2)
    let read = try MinidumpReader.snapshot(of: DumpBytes(bytes).hiding(0x504D_0003))
    #expect(read.modules.isEmpty)
    #expect(read.threads.count == 2)
    #expect(!read.capture.isComplete)
    #expect(read.capture.damage?.contains("stream 4") == true)
  }

  @Test func regionsOnTheSameBytesDoNotMultiply() throws {
    // 4,000 descriptors of the same 64 KiB: 256 MB if each were copied.
    var dump = HandBuiltMinidump()
    let blob = dump.blob([UInt8](repeating: 7, count: 64 << 10))
    let list =
      HandBuiltMinidump.u32(4000)
      + (0..<4000).flatMap { index in
        HandBuiltMinidump.u64(UInt64(index) << 20) + HandBuiltMinidump.u32(64 << 10)
          + HandBuiltMinidump.u32(blob)
      }
    dump.stream(5, list)
    let file = dump.file()
    let read = try MinidumpReader.snapshot(of: file)
    let total = read.memory.regions.reduce(0) { $0 + $1.bytes.count }
    #expect(total <= 5 * file.count + 1 << 20)
    #expect(!read.capture.isComplete)
  }

  @Test func unfinishedFileIsNoMinidump() throws {
    var bytes = try smallMinidump()
    bytes.replaceSubrange(0..<4, with: [0, 0, 0, 0])
    #expect {
      try MinidumpReader.snapshot(of: bytes)
    } throws: { error in
      (error as? MinidumpError)?.code == .notAMinidump && "\(error)".contains("never finished")
    }
  }

  @Test func otherProcessorsAreRefused() throws {
    var dump = HandBuiltMinidump()
    // The architecture x86 with 32 bits.
    dump.stream(7, [0, 0] + [UInt8](repeating: 0, count: 54))
    #expect {
      try MinidumpReader.snapshot(of: dump.file())
    } throws: { error in
      (error as? MinidumpError)?.code == .unsupportedArchitecture
    }
  }

  @Test func writingWhereNothingCanBeWrittenIsAnError() {
    #expect {
      try MinidumpWriter.write(SyntheticProcess.snapshot(), to: -1)
    } throws: { error in
      (error as? MinidumpError)?.code == .cannotWrite && (error as? MinidumpError)?.errno == 9
    }
  }
}
