import CrashAnalysis
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// A handmade crash on arm64, from its pending dump to the report.
@Suite struct ARM64DumpTests {
  private static let code: UInt64 = 0x5555_0000
  private static let stack: UInt64 = 0x7FFF_0000
  /// The address of a trap of Swift's, in a function with a frame.
  private static let trap = code + 0x100

  /// Makes a dump of a `brk #1` in a function that another one called, whose own return address is signed.
  private static func dump() -> [UInt8]? {
    var registers = (0..<34).map { 0x100 + UInt64($0) }
    registers[29] = stack + 0x20
    registers[30] = code + 0x204
    registers[31] = stack
    registers[32] = trap
    registers[33] = 0x6000_0000
    var instructions = [UInt32](repeating: 0xD503_201F, count: 0x400)
    // The instructions `stp x29, x30, [sp, #-32]!`, `mov x29, sp` and `brk #1`.
    instructions[0x3C] = 0xA9BE_7BFD
    instructions[0x3D] = 0x9100_03FD
    instructions[0x40] = 0xD420_0020
    // A `bl` directly before each return address.
    instructions[0x80] = 0x97FF_FFBC
    instructions[0xC0] = 0x97FF_FFC0
    var words = [UInt64](repeating: 0, count: 32)
    words[4] = stack + 0x40
    words[5] = code + 0x204
    words[9] = 0x00AB_0000_0000_0000 | code + 0x304
    let maps = """
      55550000-55551000 r-xp 00000000 08:01 131 /none/app
      7fff0000-7fff1000 rw-p 00000000 00:00 0 [stack]

      """
    let bytes = IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 4242, width: 4)
      writer.text(.product, "product")
      writer.end()
      writer.startMap(.exception)
      writer.unsigned(.exceptionThreadID, 4242, width: 4)
      writer.signed(.signalNumber, 5, width: 4)
      writer.signed(.signalCode, 1, width: 4)
      writer.end()
      writer.startMap(.crashingThread)
      writer.unsigned(.threadID, 4242, width: 4)
      writer.bytes(.generalRegisters, registers.flatMap { littleEndian($0) })
      writer.bytes(
        .floatingPointState,
        littleEndian(528 << 32 | 0x4650_8001) + littleEndian(2 << 32 | 1)
          + (0..<512).map { UInt8(truncatingIfNeeded: $0) })
      writer.end()
      writer.startArray(.mappings)
      writer.startMap(.mappingsChunk)
      writer.bytes(.mappingsText, Array(maps.utf8))
      writer.end()
      writer.end()
      writer.startArray(.memory)
      for (address, bytes) in [
        (stack, words.flatMap { littleEndian($0) }),
        (code, instructions.flatMap { littleEndian(UInt64($0)).prefix(4) }),
      ] {
        writer.startMap(.memoryRegion)
        writer.unsigned(.regionAddress, address)
        writer.bytes(.regionData, bytes)
        writer.end()
      }
      writer.end()
      _ = writer.endDocument()
    }
    guard var bytes else { return nil }
    // The architecture in the header.
    bytes[10] = 2
    return bytes
  }

  @Test func registersVectorsCauseAndCallersAreInMinidumpAndReport() throws {
    let dumps = try PendingDatabase()
    try dumps.putDump(try #require(Self.dump()))
    let processed = try processIntermediateDumps(database: dumps.path)
    #expect(processed.map(\.outcome) == [.complete])
    #expect(processed.first?.summary?.signal == 5)

    let path = try #require(try dumps.reports.first?.path)
    let minidump = try #require(FileManager.default.contents(atPath: path)).map { $0 }
    let snapshot = try MinidumpReader.snapshot(of: minidump)
    #expect(snapshot.architecture == .arm64)
    guard case .arm64(let context)? = snapshot.crashedThread?.context else {
      Issue.record("no registers of arm64")
      return
    }
    #expect(context.x[0] == 0x100 && context.x[28] == 0x11C && context.x[30] == Self.code + 0x204)
    #expect((context.sp, context.pc, context.pstate) == (Self.stack, Self.trap, 0x6000_0000))
    #expect((context.fpsr, context.fpcr) == (1, 2))
    #expect(context.vectorRegisters == (0..<512).map { UInt8(truncatingIfNeeded: $0) })

    let text = TextReport.text(
      of: CrashReport(snapshot: snapshot, symbolicating: false), isFull: true)
    #expect(text.contains("arm64") && text.contains("SIGTRAP"), "\(text)")
    // The second return address is shown without its signature.
    for frame in ["#0   0x000055550100", "#1   0x000055550204", "#2   0x000055550304"] {
      #expect(text.contains(frame), "\(text)")
    }
  }
}
