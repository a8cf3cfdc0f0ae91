import IntermediateDump
import ProcessSnapshot
import Testing

/// An encoded snapshot is a complete dump, which the reader of dumps can read.
@Suite struct SnapshotWritingTests {
  private func read(_ bytes: [UInt8], memory: MemorySnapshot? = nil) throws -> ProcessSnapshot {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes), memory: memory)
  }

  @Test func everythingButMemoryComesBack() throws {
    var snapshot = try read(HandlerDump.bytes())
    snapshot.clientID = ReportID()
    snapshot.dumpDigest = 7
    snapshot.addedAnnotations = ["a": "of the converter"]
    snapshot.storedSymbols = StoredSymbols(functions: [
      0x40_1000: [
        .init(linkageName: "f", isInlined: true, file: "/a/\u{FC}.swift", line: .max, column: 1),
        .init(linkageName: "g", offset: 1 << 40, file: "", line: 3, isLineApproximate: true),
      ], .highest: [.init(linkageName: "")],
    ])
    let bytes = try #require(snapshot.encoded())
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    #expect(document.root.maps(.conversion).count == 1)
    #expect(ProcessSnapshot(reading: document, memory: snapshot.memory) == snapshot)
    // Alone, the dump has no bytes of memory; it only records where there were some.
    let alone = ProcessSnapshot(reading: document)
    #expect(alone.memory.regions.isEmpty && alone.threads.allSatisfy(\.stack.isEmpty))
    #expect(alone.threads.map(\.context) == snapshot.threads.map(\.context))
    #expect(snapshot.annotations["a"] == "of the converter")
    // The crashed process and the cause come first.
    let summary = ProcessSnapshot(
      summarizing: try IntermediateDumpDocument(parsing: Array(bytes.prefix(1024))))
    #expect(summary.exception?.signal == 11 && summary.process.identifier == "prog")
  }

  @Test func namesTheDumpsArchitecture() throws {
    let bytes = try #require(ProcessSnapshot(architecture: .arm64).encoded())
    #expect(bytes[10] == 2)
    #expect(try IntermediateDumpDocument(parsing: bytes).architecture == 2)
  }

  @Test func aTornOneGivesWhatItHolds() throws {
    let snapshot = try read(HandlerDump.bytes())
    let bytes = try #require(snapshot.encoded())
    for count in 32..<bytes.count {
      let read = try read(Array(bytes[..<count]), memory: snapshot.memory)
      #expect(!read.capture.isComplete && read.capture.damage != nil)
      #expect(read.memory == snapshot.memory)
    }
  }

  @Test func aPropertyThatIsLargerThanTheBufferIsWritten() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.statusText = [UInt8](repeating: 0x41, count: 1 << 20)
    snapshot.process.mapsText = [UInt8](repeating: 0x42, count: 3 << 20)
    let read = try read(#require(snapshot.encoded()))
    #expect(read.process == snapshot.process)
  }

  @Test func stacksThatAllNameTheSameMemoryGetItOnce() throws {
    let memory = MemorySnapshot(joining: [
      MemoryRegion(address: 0x1000, bytes: [UInt8](repeating: 1, count: 4096))
    ])
    var dump = DumpTokens()
    dump.array(.threads) { dump in
      for id in 1...50 as ClosedRange<UInt64> {
        dump.map(.thread) { dump in
          dump.unsigned(.threadID, id, 4)
          dump.array(.stack) { dump in
            dump.map(.memoryRegion) { dump in
              dump.unsigned(.regionAddress, 0x1000)
              dump.unsigned(.regionSize, 4096)
            }
          }
        }
      }
    }
    dump.end()
    let read = try read(dump.bytes, memory: memory)
    #expect(read.threads.count == 50)
    #expect(read.threads.flatMap(\.stack).count == 1)
  }
}
