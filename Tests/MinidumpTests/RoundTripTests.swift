import CrashTestSupport
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

@Suite struct RoundTripTests {
  @Test func everythingComesBack() throws {
    var snapshot = SyntheticProcess.snapshot()
    let read = try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot))
    // Annotations of modules are written for other readers; in our own dumps only the program's module has some.
    snapshot.modules[1].annotations = ModuleAnnotations()
    #expect(read.process == snapshot.process)
    #expect(read.system == snapshot.system)
    #expect(read.exception == snapshot.exception)
    #expect(read.threads.count == snapshot.threads.count)
    for (left, right) in zip(read.threads, snapshot.threads) { #expect(left == right) }
    #expect(read.modules == snapshot.modules)
    #expect(read.mappings == snapshot.mappings)
    #expect(read.memory == snapshot.memory)
    #expect(read.annotations == snapshot.annotations)
    #expect(read.capture == snapshot.capture)
    #expect(read == snapshot)
  }

  @Test func emptySnapshotComesBackEmpty() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.capture.isComplete = false
    snapshot.capture.damage = "torn at byte 32"
    #expect(try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot)) == snapshot)
  }

  @Test func storedSymbolsComeBack() throws {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.storedSymbols = StoredSymbols(functions: [
      0x40_1000: [
        .init(
          linkageName: "Swift runtime failure: Index out of range", isInlined: true,
          file: "/a/ü.swift",
          line: 0xFFFF_FFFF, column: 1),
        .init(
          linkageName: "$s3App4mainyyF", offset: 1 << 40, file: "", line: 3, isLineApproximate: true
        ),
      ],
      0x40_2000: [.init(linkageName: "")],
    ])
    let bytes = try minidumpBytes(of: snapshot)
    let read = try MinidumpReader.snapshot(of: bytes)
    #expect(read.storedSymbols == snapshot.storedSymbols)
    // If our stream is truncated anywhere, the reader uses the other streams.
    let entry = try #require(
      stride(from: 32, to: 32 + 32 * 12, by: 12).first { DumpBytes(bytes).u32($0) == 0x504D_0003 })
    for cut in stride(from: 0, to: DumpBytes(bytes).u32(entry + 4), by: 7) {
      var torn = bytes
      torn.replaceSubrange(entry + 4..<entry + 8, with: littleEndian(UInt64(cut), 4))
      let damaged = try MinidumpReader.snapshot(of: torn)
      #expect(damaged.capture.damage?.hasPrefix("our own stream") == true)
      #expect(damaged.threads.map(\.id) == snapshot.threads.map(\.id))
      #expect(damaged.memory == snapshot.memory && damaged.storedSymbols == nil)
    }
  }

  @Test func lostSignalCodeStaysLost() throws {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.exception?.code = nil
    snapshot.exception?.address = nil
    let read = try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot))
    #expect(read.exception?.signal == 11)
    #expect(read.exception?.code == nil)
    #expect(read.exception?.address == nil)
  }

  @Test func arm64ComesBack() throws {
    var snapshot = SyntheticProcess.arm64Snapshot()
    snapshot.threads[0].captureMethod = .crashed
    var blocked = ThreadSnapshot(id: 8)
    (blocked.stackPointer, blocked.instructionPointer) = (0x1000, 0x2000)
    snapshot.threads.append(blocked)
    var exception = ExceptionSnapshot(threadID: 7)
    (exception.signal, exception.code) = (5, 1)
    exception.address = 0x40_0000
    exception.context = snapshot.threads[0].context
    snapshot.exception = exception
    #expect(try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot)) == snapshot)
  }

  @Test func crashingThreadIsWrittenFirst() throws {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.threads.swapAt(0, 2)
    let read = try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot))
    #expect(read.threads.map(\.id) == [4001, 4003, 4002, 4004])
  }

  @Test func programWithoutTheTwoNamesDoesNotGetThem() throws {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.launchAnnotations = [:]
    let read = try MinidumpReader.snapshot(of: minidumpBytes(of: snapshot))
    #expect(read.annotations == [:])
    #expect(read.process.product == "Victim Server")
  }
}
