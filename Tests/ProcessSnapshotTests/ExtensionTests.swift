import IntermediateDump
import ProcessSnapshot
import Testing

@Suite struct ExtensionTests {
  private func whole() throws -> ProcessSnapshot {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: HandlerDump.bytes()))
  }

  /// What the standard streams of a minidump can hold of a snapshot.
  private func standardPart(of snapshot: ProcessSnapshot) -> ProcessSnapshot {
    var part = ProcessSnapshot(architecture: snapshot.architecture)
    part.memory = snapshot.memory
    part.modules = snapshot.modules
    for index in part.modules.indices { part.modules[index].isDeleted = false }
    part.mappings = snapshot.mappings
    part.process.statusText = snapshot.process.statusText
    part.process.mapsText = snapshot.process.mapsText
    part.process.auxiliaryVector = snapshot.process.auxiliaryVector
    part.process.commandLine = snapshot.process.commandLine
    part.system.processorText = snapshot.system.processorText
    part.system.releaseText = snapshot.system.releaseText
    part.linkMap = snapshot.linkMap
    part.linkMap?.state = nil
    part.linkMap?.debugAddress = nil
    part.annotations = snapshot.annotations
    part.threads = snapshot.threads.map { thread in
      var plain = ThreadSnapshot(id: thread.id)
      plain.name = thread.name
      plain.context = thread.context
      if case .x86_64(var context)? = thread.context {
        context.floatingPointState = Array(context.floatingPointState.prefix(512))
        plain.context = .x86_64(context)
      }
      plain.stackPointer = thread.context?.stackPointer
      plain.instructionPointer = thread.context?.instructionPointer
      plain.stack = Array(thread.stack.prefix(1))
      return plain
    }
    var exception = ExceptionSnapshot(threadID: 901)
    exception.signal = 11
    exception.code = 0
    part.exception = exception
    return part
  }

  @Test func addsBackWhatTheStandardStreamsLack() throws {
    let snapshot = try whole()
    let document = try IntermediateDumpDocument(parsing: #require(snapshot.extensionDocument()))
    #expect(document.isComplete)
    var read = standardPart(of: snapshot)
    #expect(read != snapshot)
    read.applyExtension(document)
    #expect(read == snapshot)
  }

  @Test func namesTheDumpsArchitecture() throws {
    let snapshot = ProcessSnapshot(architecture: .arm64)
    let bytes = try #require(snapshot.extensionDocument())
    #expect(bytes[10] == 2)
    #expect(try IntermediateDumpDocument(parsing: bytes).architecture == 2)
  }

  @Test func tornExtensionOnlyAdds() throws {
    let snapshot = try whole()
    let bytes = try #require(snapshot.extensionDocument())
    for count in 32..<bytes.count {
      var read = standardPart(of: snapshot)
      read.applyExtension(try IntermediateDumpDocument(parsing: Array(bytes[..<count])))
      #expect(read.exception?.signal == 11)
      #expect(read.threads.count == 3)
      #expect(read.memory == snapshot.memory)
    }
  }

  @Test func stacksThatAllNameTheSameMemoryGetItOnce() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.memory = MemorySnapshot(joining: [
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
    snapshot.applyExtension(try IntermediateDumpDocument(parsing: dump.bytes))
    #expect(snapshot.threads.count == 50)
    #expect(snapshot.threads.flatMap(\.stack).count == 1)
  }
}
