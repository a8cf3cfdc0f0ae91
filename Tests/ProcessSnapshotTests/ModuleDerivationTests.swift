import IntermediateDump
import ProcessSnapshot
import Testing

@Suite struct ModuleDerivationTests {
  private func modules(_ bytes: [UInt8]) throws -> [ModuleSnapshot] {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes)).modules
  }

  @Test func theImagesOfADumpAreModules() throws {
    var found = try modules(HandlerDump.bytes())
    #expect(
      found[0].segments.map(\.range.description) == ["0x400000-0x401000", "0x600000-0x602000"])
    for index in found.indices { found[index].segments = [] }
    #expect(
      found == [
        // The range from the page of 0x400123 to 0x601234.
        ModuleSnapshot(
          address: 0x40_0000, size: 0x20_1234, path: "/opt/my prog", buildID: [1, 2, 3, 4]),
        ModuleSnapshot(
          address: 0x7F00_0001_0000, size: 0x2000, path: "/lib/gone.so", isDeleted: true),
        ModuleSnapshot(address: 0x7FFD_0001_0000, size: 0x2000, path: "linux-gate.so"),
      ])
  }

  /// The unwind table is found through the program headers of the dump, wherever the image has its own.
  @Test func theProgramHeadersSayWhereTheUnwindTableIs() throws {
    var header = Array(HandlerDump.programHeaders([(4, 0x2038, 0x2C)]).suffix(56))
    header.replaceSubrange(0..<4, with: [0x50, 0xE5, 0x74, 0x64])
    var dump = DumpTokens()
    dump.array(.modules) { dump in
      dump.map(.module) { dump in
        dump.unsigned(.moduleAddress, 0x1_0000)
        dump.property(
          .moduleProgramHeaders, HandlerDump.programHeaders([(5, 0x1000, 0x3000)]) + header)
      }
    }
    dump.end()
    let snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    let table = snapshot.modules.first?.unwindTable
    #expect(table == AddressRange(start: 0x1_1038, byteCount: 0x2C))
    let copy = try #require(snapshot.encoded())
    #expect(
      ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: copy)).modules
        == snapshot.modules)
  }

  @Test func modulesDoNotOverlap() throws {
    var dump = DumpTokens()
    dump.array(.modules) { dump in
      for (address, size) in [
        (0x9000, UInt64.max), (0x1000, 0x5000), (0x3000, 0x1000), (0x1000, 0x1000),
      ] as [(UInt64, UInt64)] {
        dump.map(.module) { dump in
          dump.unsigned(.moduleAddress, address)
          dump.unsigned(.moduleSize, size)
        }
      }
    }
    dump.end()
    let modules = try modules(dump.bytes)
    #expect(modules.map(\.address) == [0x1000, 0x3000, 0x9000])
    #expect(modules.map(\.size) == [0x2000, 0x1000, UInt64.max - 0x9000])
  }

  @Test func headersThatWrapAreIgnored() throws {
    var dump = DumpTokens()
    dump.array(.modules) { dump in
      dump.map(.module) { dump in
        dump.unsigned(.moduleAddress, 0x1000)
        dump.property(
          .moduleProgramHeaders,
          HandlerDump.programHeaders([(5, .max - 1, 0x2000), (5, 0x10, 0x20)]) + [1, 0, 0])
      }
    }
    dump.end()
    #expect(try modules(dump.bytes).map(\.size) == [0x30])
  }

  /// An image in the linker's list is a module according to its program headers, whatever the mappings show.
  @Test func listedImagesNeedNoMappings() throws {
    var dump = DumpTokens()
    dump.array(.mappings) { dump in
      dump.map(.mappingsChunk) { dump in
        // lld maps the file's first page three times. The code was moved to memory without a file.
        dump.text(
          .mappingsText,
          """
          10000-11000 r--p 00000000 08:01 7 /small.so
          11000-12000 r--p 00000000 00:00 0
          12000-13000 rw-p 00000000 08:01 7 /small.so
          18000-19000 rwxp 00000000 00:00 0
          20000-21000 rw-p 00003000 08:01 7 /small.so

          """)
      }
    }
    dump.array(.modules) { dump in
      dump.map(.module) { dump in
        dump.unsigned(.moduleAddress, 0x1_0000)
        dump.unsigned(.moduleSource, 2, 1)
        dump.text(.modulePath, "/small.so")
        dump.property(
          .moduleProgramHeaders,
          HandlerDump.programHeaders([
            (4, 0, 0x564), (5, 0x1570, 0x160), (6, 0x26D0, 0x930), (6, 0x1_0000, 0x100),
          ]))
      }
    }
    dump.end()
    let snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    let module = try #require(snapshot.modules.first)
    #expect(snapshot.modules.count == 1)
    #expect(module.source == .linker)
    #expect(module.size == 0x1_0100)
    #expect(
      module.segments.map(\.range.description) == [
        "0x10000-0x11000", "0x11000-0x12000", "0x12000-0x13000", "0x20000-0x21000",
      ])
    #expect(module.segments.map(\.isExecutable) == [false, true, false, false])
    for (address, isOurs) in [
      (0x1_0000, true), (0x1_1FFF, true), (0x1_2FFF, true), (0x1_3000, false),
      // Other code in a hole of the image.
      (0x1_8010, false), (0x2_0010, true), (0x2_0100, false),
    ] as [(UInt64, Bool)] {
      #expect((snapshot.module(containing: Address(address)) != nil) == isOurs, "\(address)")
    }
    // The copy in a minidump is the same.
    let copy = try #require(snapshot.encoded())
    #expect(
      ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: copy)).modules
        == snapshot.modules)
  }

  /// In glibc 2.42, guards are inside the threads' stacks, so several stacks share a mapping.
  @Test func stacksInOneMappingAreSeparate() throws {
    var dump = DumpTokens()
    func thread(_ dump: inout DumpTokens, _ id: UInt64, _ pointer: UInt64, _ control: UInt64) {
      dump.unsigned(.threadID, id, 4)
      dump.unsigned(.threadPointer, control)
      dump.unsigned(.threadStackPointer, pointer)
      dump.unsigned(.stackRegionStart, 0x10_0000)
      dump.unsigned(.stackRegionEnd, (control & ~4095) + 4096)
    }
    dump.map(.exception) { $0.unsigned(.exceptionThreadID, 1, 4) }
    dump.map(.crashingThread) { thread(&$0, 1, 0x14_8000, 0x14_F700) }
    dump.array(.threads) { dump in
      dump.map(.thread) { thread(&$0, 2, 0x12_8000, 0x12_F700) }
      dump.map(.thread) { thread(&$0, 3, 0x18_8000, 0x18_F700) }
    }
    dump.end()
    let snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    #expect(
      snapshot.threads.map { $0.stackRange?.description } == [
        "0x130000-0x150000", "0x100000-0x130000", "0x150000-0x190000",
      ])
  }
}
