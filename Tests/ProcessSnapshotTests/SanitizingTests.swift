import CrashTestSupport
import IntermediateDump
import Testing

@testable import ProcessSnapshot

@Suite struct SanitizingTests {
  private static let stack = SyntheticProcess.stack
  private static let replaced = IntermediateDumpFormat.replacedWord

  /// A process with one thread, whose stack has these words.
  private func process(_ words: [UInt64], cut: Int = 0) -> ProcessSnapshot {
    var snapshot = SyntheticProcess.snapshot()
    let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    let region = MemoryRegion(
      address: Self.stack &+ UInt64(cut), bytes: Array(bytes.dropFirst(cut).dropLast(cut)))
    var thread = snapshot.threads[0]
    thread.stack = [region]
    thread.stackRange = AddressRange(start: Self.stack, byteCount: 0x1000)
    snapshot.threads = [thread]
    snapshot.memory = MemorySnapshot(
      joining: [
        region, MemoryRegion(address: 0x5555_9999_0000, bytes: Array("a secret of the heap".utf8)),
      ])
    return snapshot
  }

  @Test func aStackKeepsAddressesAndSmallNumbers() throws {
    let code = SyntheticProcess.executable.value + 0x1010
    let own = Self.stack.value + 8
    // Bit 60 marks the record of an asynchronous function.
    let words: [UInt64] = [
      0, 4095, 4096, 7391, code, own, own | 1 << 60, 0x5555_9999_0000, 0x6F77_7373_6170_7473, .max,
    ]
    var snapshot = process(words)
    snapshot.sanitize()
    let kept = words.indices.map { snapshot.memory.word(at: Self.stack &+ UInt64($0 * 8)) }
    let x = Self.replaced
    #expect(kept == [0, 4095, x, x, code, own, own | 1 << 60, x, x, x])
    #expect(snapshot.threads[0].stack[0].bytes == snapshot.memory.regions[0].bytes)
    #expect(snapshot.memory.regions.count == 1, "no heap")
  }

  @Test func wordsThatAreNotWholeAreReplaced() {
    var snapshot = process([0x4141_4141_4141_4141, 1, 0x4242_4242_4242_4242], cut: 3)
    snapshot.sanitize()
    let bytes = snapshot.threads[0].stack[0].bytes
    #expect(!bytes.contains(0x41) && !bytes.contains(0x42))
    #expect(Array(bytes[5..<13]) == [1, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test func aPartOfAWordIsReadAsTheWordIs() throws {
    let code = SyntheticProcess.executable.value + 0x1010
    var snapshot = process([code, 0x6F77_7373_6170_7473])
    snapshot.sanitize()
    let half = try #require(snapshot.memory.bytes(at: Self.stack &+ 2, count: 4))
    #expect(half.littleEndian(at: 0, width: 4) == code >> 16 & 0xFFFF_FFFF)
    let across = try #require(snapshot.memory.bytes(at: Self.stack &+ 6, count: 4))
    #expect(across.littleEndian(at: 2, width: 2) == Self.replaced & 0xFFFF)
    // Reads the memory like the minidump writer.
    var whole: [UInt8] = []
    let contents = snapshot.memory.regions[0].contents
    let isWhole = contents.forEachSlice(of: 0..<contents.count) { whole += $0 }
    #expect(isWhole)
    #expect(whole == snapshot.memory.regions[0].bytes)
  }

  @Test func registersKeepWhatStacksDo() throws {
    var snapshot = process([])
    var context = X86_64Context()
    context.rax = 0x7365_7274_6563_6573
    context.rbx = SyntheticProcess.executable.value
    context.rcx = 12
    context.rbp = 0x3132_3334_3536
    context.rip = 0xDEAD_0000_0000
    context.rsp = 0x1234_5678
    context.rflags = 0x1_0246
    context.floatingPointState = Array(repeating: 7, count: 512)
    snapshot.threads[0].context = .x86_64(context)
    snapshot.sanitize()
    guard case .x86_64(let kept)? = snapshot.threads[0].context else {
      Issue.record("no context")
      return
    }
    #expect(kept.rax == Self.replaced && kept.rbp == Self.replaced)
    #expect(kept.rbx == context.rbx && kept.rcx == 12 && kept.rip == context.rip)
    #expect(kept.rsp == context.rsp && kept.rflags == context.rflags)
    #expect(kept.floatingPointState.isEmpty)
  }

  @Test func whatTheProgramWroteIsLeftOut() {
    var snapshot = process([])
    snapshot.exception?.fatalMessage = "App/main.swift:3: Fatal error: token 1234\n"
    snapshot.exception?.abortMessage = "main.c:3: main: Assertion `pin != 1234' failed.\n"
    snapshot.cxxException?.message = "1234"
    snapshot.client.breadcrumbs = [.init(text: "1234")]
    snapshot.request = DumpRequest()
    snapshot.request?.name = "1234"
    snapshot.request?.reason = "1234"
    snapshot.request?.errorText = "1234"
    snapshot.threads[0].name = "1234"
    snapshot.threads[0].systemCall = "0 0x3 0x7fff00001234"
    snapshot.sanitize()
    #expect(snapshot.exception?.fatalMessage == nil && snapshot.exception?.abortMessage == nil)
    #expect(snapshot.exception?.senderName == nil && snapshot.cxxException?.message == nil)
    #expect(snapshot.client == ClientInformation() && snapshot.request == DumpRequest())
    #expect(snapshot.annotations.isEmpty && snapshot.process.arguments == nil)
    #expect(!snapshot.modules.contains { !$0.annotations.isEmpty })
    #expect(snapshot.threads[0].name == nil && snapshot.threads[0].systemCall == "0")
    #expect(snapshot.process.statusText?.starts(with: "Pid:".utf8) == true)
    #expect(snapshot.process.product != nil && snapshot.process.privacy == .sanitized)
  }

  @Test(arguments: [
    ("Swift/ContiguousArrayBuffer.swift:691: Fatal error: Index out of range\n", true),
    ("a secret.swift:1: Fatal error: Index out of range\n", true),
    ("Fatal error: Index out of range: 1234", false), ("Division by zero", true),
    ("App/a.swift:1: Fatal error: Division by zero\nFatal error: Index out of range\n", true),
    ("App/a.swift:1: Fatal error: token 1234\nFatal error: Index out of range\n", false),
  ])
  func messagesWithoutAValueAreKeptWithoutThePlaceThatAProgramMayChoose(
    _ text: String, _ isKept: Bool
  ) {
    var snapshot = process([])
    snapshot.exception?.fatalMessage = text
    snapshot.sanitize()
    #expect((snapshot.exception?.fatalMessage != nil) == isKept)
    #expect(snapshot.exception?.fatalMessage?.contains("swift") != true)
  }

  @Test func twiceChangesNothingMore() {
    var once = process([1, .max, SyntheticProcess.executable.value])
    once.sanitize()
    var twice = once
    twice.sanitize()
    #expect(once == twice)
  }

  @Test func aStackIsKeptAsItsFrames() throws {
    var snapshot = process([])
    snapshot.threads[0].storedStack = StoredStack(
      end: 1,
      frames: [
        .init(address: 0x1234, stackPointer: 0x5678, isReturnAddress: false, trust: 0),
        .init(address: .highest, stackPointer: 0, isReturnAddress: true, trust: 6),
      ], asyncCallers: [7, 9], isAsyncCut: true)
    let bytes = try #require(snapshot.encoded())
    let document = try IntermediateDumpDocument(parsing: DumpBytes(bytes))
    let read = ProcessSnapshot(reading: document, memory: snapshot.memory)
    #expect(read.threads[0].storedStack == snapshot.threads[0].storedStack)
  }
}
