import CrashTestSupport
import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// The words of objects that a sanitized snapshot keeps: enough to name their types, and no contents.
@Suite struct KeptObjectsTests {
  private static let stack = SyntheticProcess.stack
  private static let replaced = IntermediateDumpFormat.replacedWord
  private static let module = SyntheticProcess.executable.value
  private static let heap: UInt64 = 0x5555_9999_0000
  private static let secret: UInt64 = 0x7465_7263_6573_6121

  /// A process with the given words on its stack and at other addresses.
  private func process(
    stack words: [UInt64], rdi: UInt64 = 0, _ others: [UInt64: [UInt64]]
  ) -> ProcessSnapshot {
    func region(_ address: UInt64, _ words: [UInt64]) -> MemoryRegion {
      var bytes: [UInt8] = []
      for word in words { bytes.append(littleEndian: word) }
      return MemoryRegion(address: Address(address), bytes: bytes)
    }
    var snapshot = SyntheticProcess.snapshot()
    var context = X86_64Context()
    (context.rip, context.rsp, context.rdi) = (Self.module + 0x1010, Self.stack.value, rdi)
    var thread = snapshot.threads[0]
    thread.context = .x86_64(context)
    thread.stack = [region(Self.stack.value, words)]
    thread.stackRange = AddressRange(start: Self.stack, byteCount: 0x1000)
    snapshot.threads = [thread]
    snapshot.exception?.context = thread.context
    snapshot.memory = MemorySnapshot(
      joining: thread.stack + others.map { region($0.key, $0.value) })
    return snapshot
  }

  /// Metadata of a class of the module; its fourth and fifth word are sizes.
  private func classMetadata(arguments: [UInt64] = [], size: UInt64? = nil) -> [UInt64] {
    let size = size ?? UInt64(72 + 8 * arguments.count)
    return [
      0, 0, Self.secret, 0x7_0000_0018, 16 << 32 | size, Self.module + 0x2000, Self.secret,
    ] + arguments + [Self.secret]
  }

  private func word(_ snapshot: ProcessSnapshot, _ address: UInt64) -> UInt64? {
    snapshot.memory.word(at: Address(address))
  }

  @Test func anObjectKeepsItsTypeAndASmallCountAndNoContents() {
    let (object, type) = (Self.heap, Self.heap + 0x1000)
    var snapshot = process(
      stack: [object], rdi: object,
      [object: [type, 0x2_0000_0003, Self.secret, Self.secret], type: classMetadata()])
    snapshot.sanitize()
    #expect(word(snapshot, Self.stack.value) == object)
    guard case .x86_64(let context)? = snapshot.exception?.context else {
      Issue.record("no context")
      return
    }
    #expect(context.rdi == object)
    #expect(word(snapshot, object) == type && word(snapshot, object + 8) == 0x2_0000_0003)
    #expect(word(snapshot, object + 16) == nil)
    #expect(word(snapshot, type) == 0 && word(snapshot, type + 40) == Self.module + 0x2000)
    for offset in stride(from: UInt64(16), to: 40, by: 8) {
      #expect(word(snapshot, type + offset) == Self.replaced)
    }
    #expect(word(snapshot, type + 48) == nil)
    var twice = snapshot
    twice.sanitize()
    #expect(twice == snapshot)
  }

  @Test func aCountThatMayBeASecretIsLeftOut() {
    let (object, type) = (Self.heap, Self.heap + 0x1000)
    for count: UInt64 in [0xC000_0AAA_AB33_3333, 0x100_0000_0003, 0x83] {
      var snapshot = process(stack: [object], [object: [type, count, 0], type: classMetadata()])
      snapshot.sanitize()
      #expect(word(snapshot, object + 8) == Self.replaced)
      var twice = snapshot
      twice.sanitize()
      #expect(twice == snapshot)
    }
  }

  @Test func typesInMetadataAreKeptAndOtherWordsAreNot() {
    let (object, type, argument) = (Self.heap, Self.heap + 0x1000, Self.heap + 0x2000)
    var snapshot = process(
      stack: [object],
      [
        object: [type, 3, 0],
        type: classMetadata(arguments: [Self.secret, argument, argument]),
        argument: [0x200, Self.module + 0x3000, argument, Self.secret, Self.secret],
      ])
    snapshot.sanitize()
    #expect(word(snapshot, type + 56) == nil && word(snapshot, type + 64) == argument)
    #expect(word(snapshot, argument) == 0x200)
    #expect(word(snapshot, argument + 8) == Self.module + 0x3000)
    #expect(word(snapshot, argument + 24) == Self.replaced && word(snapshot, argument + 32) == nil)
  }

  @Test func anErrorKeepsItsTypeOnlyIfThatIsOne() {
    let (object, type, inner) = (Self.heap, Self.heap + 0x1000, Self.heap + 0x2000)
    for third in [inner, Self.secret] {
      var snapshot = process(
        stack: [object],
        [
          object: [type, 3, third, Self.secret], type: [0x501, Self.secret],
          inner: [0x200, Self.module + 0x3000, 0, 0],
        ])
      snapshot.sanitize()
      #expect(word(snapshot, object + 16) == (third == inner ? inner : nil))
      #expect(word(snapshot, object + 24) == nil && word(snapshot, type + 8) == nil)
      #expect(word(snapshot, type) == 0x501)
    }
  }

  @Test func whatIsNoObjectIsNotKept() {
    let (object, type) = (Self.heap, Self.heap + 0x1000)
    let wrong: [(object: [UInt64], type: [UInt64])] = [
      ([type, 2, 0], classMetadata()), ([type, 3, 0], classMetadata(size: 8)),
      ([type, 3, 0], [0, 0, 0]), ([type, 3, 0], [0x777] + classMetadata().dropFirst()),
      ([Self.secret, 3, 0], classMetadata()), ([type, Self.secret, 0], classMetadata()),
    ]
    for (words, metadata) in wrong {
      var snapshot = process(stack: [object], [object: words, type: metadata])
      snapshot.sanitize()
      #expect(word(snapshot, Self.stack.value) == Self.replaced)
      #expect(word(snapshot, object) == nil && word(snapshot, type) == nil)
    }
  }

  @Test func aReportWithoutMemoryKeepsNoObject() {
    let (object, type) = (Self.heap, Self.heap + 0x1000)
    var snapshot = process(stack: [object], [object: [type, 3, 0], type: classMetadata()])
    snapshot.sanitize(keepsObjects: false)
    #expect(word(snapshot, Self.stack.value) == Self.replaced && word(snapshot, object) == nil)
  }

  @Test func anObjectOnTheStackIsKeptAsTheStackIs() {
    let (object, type) = (Self.stack.value + 8, Self.heap + 0x1000)
    var snapshot = process(
      stack: [object, type, 0x2_0000_0003, Self.secret], [type: classMetadata()])
    snapshot.sanitize()
    #expect(word(snapshot, object) == type && word(snapshot, object + 8) == Self.replaced)
    #expect(word(snapshot, type + 40) == Self.module + 0x2000)
  }
}
