import IntermediateDump
import ProcessSnapshot
import Testing

@Suite struct ModuleDerivationTests {
  private func modules(_ bytes: [UInt8]) throws -> [ModuleSnapshot] {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes)).modules
  }

  @Test func onlyImagesThatCanRunAreModules() throws {
    #expect(
      try modules(HandlerDump.bytes()) == [
        // From the page of 0x400123 to 0x601234.
        ModuleSnapshot(
          address: 0x40_0000, size: 0x20_1234, path: "/opt/my prog", buildID: [1, 2, 3, 4]),
        ModuleSnapshot(
          address: 0x7F00_0001_0000, size: 0x2000, path: "/lib/gone.so", isDeleted: true),
        ModuleSnapshot(address: 0x7FFD_0001_0000, size: 0x2000, path: "linux-gate.so"),
      ])
  }

  /// Without the maps, which a torn dump may lack, the headers say whether an image can run.
  @Test func headersDecideWithoutMaps() throws {
    var dump = DumpTokens()
    dump.array(.modules) { dump in
      for (address, flags) in [(0x1000, 4), (0x10_0000, 5)] as [(UInt64, UInt64)] {
        dump.map(.module) { dump in
          dump.unsigned(.moduleAddress, address)
          dump.text(.modulePath, "/m\(address)")
          dump.property(.moduleProgramHeaders, HandlerDump.programHeaders([(flags, 0, 0x2000)]))
        }
      }
    }
    dump.end()
    #expect(try modules(dump.bytes).map(\.path) == ["/m1048576"])
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
}
