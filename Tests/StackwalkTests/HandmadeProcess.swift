import CrashTestSupport
import IntermediateDump
import ProcessSnapshot

/// A process of handmade bytes: one code mapping and one stack.
struct HandmadeProcess {
  static let code: UInt64 = 0x40_0000
  static let stack: UInt64 = 0x7F00_0000_0000

  var context = X86_64Context()
  /// The words of the stack, from `stack` upwards.
  var words: [UInt64] = Array(repeating: 0, count: 64)
  /// The code, filled with NOP; tests add calls.
  var codeBytes = [UInt8](repeating: 0x90, count: 0x1000)

  init() {
    context.rsp = Self.stack
    context.rip = Self.code + 0x100
  }

  func address(ofWord index: Int) -> UInt64 { Self.stack &+ UInt64(bitPattern: Int64(index) * 8) }

  /// Writes `call rel32` directly before an offset, and returns the address after the call.
  mutating func call(endingAt offset: Int) -> UInt64 {
    codeBytes.replaceSubrange(offset - 5..<offset, with: [0xE8, 1, 2, 3, 4])
    return Self.code + UInt64(offset)
  }

  var snapshot: ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var thread = ThreadSnapshot(id: 7)
    thread.context = .x86_64(context)
    thread.captureMethod = .crashed
    snapshot.threads = [thread]
    snapshot.exception = ExceptionSnapshot(threadID: 7)
    let size = UInt64(words.count * 8)
    snapshot.mappings = [
      MemoryMapping(
        start: Address(Self.code), end: Address(Self.code + 0x1000), protection: [.read, .execute],
        path: "/none/app"),
      MemoryMapping(
        start: Address(Self.stack), end: Address(Self.stack + size), protection: [.read, .write]),
    ]
    snapshot.modules = [
      ModuleSnapshot(address: Address(Self.code), size: 0x1000, path: "/none/app")
    ]
    let bytes = words.flatMap { littleEndian($0) }
    snapshot.memory = MemorySnapshot(joining: [
      MemoryRegion(address: Address(Self.stack), bytes: bytes),
      MemoryRegion(address: Address(Self.code), bytes: codeBytes),
    ])
    return snapshot
  }
}

/// Pseudorandom numbers, the same in every run.
struct FixedGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
