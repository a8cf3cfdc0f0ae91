import CrashTestSupport
import Minidump
import ProcessSnapshot
import Testing

@Suite struct ContextLayoutTests {
  @Test func arm64Context() throws {
    var context = ARM64Context()
    context.x = (0..<31).map { 0xA000 + $0 }
    (context.sp, context.pc, context.pstate) = (0xB1, 0xB2, 0x6000_0000)
    context.vectorRegisters = (0..<512).map { UInt8(truncatingIfNeeded: $0) }
    (context.fpsr, context.fpcr) = (0xC1, 0xC2)
    var snapshot = ProcessSnapshot(architecture: .arm64)
    var thread = ThreadSnapshot(id: 1)
    thread.context = .arm64(context)
    snapshot.threads = [thread]
    let dump = DumpBytes(try minidumpBytes(of: snapshot))
    let threads = try #require(dump.stream(3))
    #expect(dump.u32(threads.rva + 4 + 40) == 912)
    let start = dump.u32(threads.rva + 4 + 44)
    #expect(dump.u32(start) == 0x400007)
    #expect(dump.u32(start + 4) == 0x6000_0000)
    #expect((0..<31).allSatisfy { dump.u64(start + 8 + $0 * 8) == UInt64(0xA000 + $0) })
    #expect(dump.u64(start + 256) == 0xB1)
    #expect(dump.u64(start + 264) == 0xB2)
    #expect(dump.bytes[start + 272..<start + 784].elementsEqual(context.vectorRegisters))
    #expect(dump.u32(start + 784) == 0xC2)
    #expect(dump.u32(start + 788) == 0xC1)
    #expect(dump.bytes[start + 792..<start + 912].allSatisfy { $0 == 0 })
    let system = try #require(dump.stream(7))
    #expect(dump.u16(system.rva) == 12)
  }

  @Test func contextWithoutFloatingPointSaysSo() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var thread = ThreadSnapshot(id: 1)
    thread.context = .x86_64(X86_64Context())
    snapshot.threads = [thread]
    let dump = DumpBytes(try minidumpBytes(of: snapshot))
    let threads = try #require(dump.stream(3))
    #expect(dump.u32(dump.u32(threads.rva + 4 + 44) + 0x30) == 0x100007)
  }

  /// Each row has the signal, its code, the siginfo from byte 16 on, and the address and parameters in the
  /// exception record.
  @Test(
    arguments: [
      (6, -6, [0xA1, 0, 0, 0, 0xA2, 0, 0, 0], 0, [0xA1, 0xA2, 0] as [UInt64]),
      (11, 0, [0xA1, 0, 0, 0, 0xA2, 0, 0, 0], 0, [0xA1, 0xA2, 0]),
      (11, 0x80, [0, 0, 0, 0, 0, 0, 0, 0], 0, []),
      (
        31, 1, [0x10, 0x32, 0, 0, 0, 0, 0, 0, 39, 0, 0, 0, 0x3E, 0, 0, 0xC0], 0x3210,
        [39, 0xC000_003E]
      ),
    ] as [(Int32, Int32, [UInt8], UInt64, [UInt64])])
  func exceptionRecord(
    signal: Int32, code: Int32, tail: [UInt8], address: UInt64, parameters: [UInt64]
  ) throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var exception = ExceptionSnapshot(threadID: 9)
    (exception.signal, exception.code) = (signal, code)
    var info = [UInt8](repeating: 0, count: 128)
    info.replaceSubrange(16..<16 + tail.count, with: tail)
    exception.signalInfo = info
    snapshot.exception = exception
    let bytes = try minidumpBytes(of: snapshot)
    let dump = DumpBytes(bytes)
    let stream = try #require(dump.stream(6))
    #expect(dump.u64(stream.rva + 24) == address)
    #expect(dump.u32(stream.rva + 32) == parameters.count)
    #expect(
      parameters.indices.map { dump.u64(stream.rva + 40 + $0 * 8) } == parameters)
    #expect(dump.u32(stream.rva + 12) == Int(UInt32(bitPattern: code)))
    #expect(try MinidumpReader.snapshot(of: bytes).exception == exception)
  }
}
