import CrashTestSupport
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// Stacks and code at the end of the address space, and sizes that fill it, where arithmetic used to trap.
@Suite struct EndOfMemoryTests {
  private static let start: UInt64 = 0xFFFF_FFFF_FFFF_F000
  private static let code: UInt64 = 0x40_0000

  /// A process whose stack ends with the address space; its code has a call before 0x200.
  private func process(stack words: [UInt64], at start: UInt64) -> ProcessSnapshot {
    var code = HandmadeProcess()
    _ = code.call(endingAt: 0x200)
    var snapshot = code.snapshot
    let bytes = words.flatMap { littleEndian($0) }
    snapshot.memory = MemorySnapshot(joining: [
      snapshot.memory.regions[0], MemoryRegion(address: Address(start), bytes: bytes),
    ])
    snapshot.mappings[1].range = AddressRange(start: Address(start), byteCount: .max)
    var context = X86_64Context()
    context.rip = Self.code + 0x100
    context.rsp = start
    context.rbp = start
    snapshot.threads[0].context = .x86_64(context)
    return snapshot
  }

  private func trace(_ snapshot: ProcessSnapshot) -> StackTrace {
    Stackwalker(snapshot: snapshot, symbols: nil)
      .trace(of: snapshot.threads[0], head: 100, tail: 10)
  }

  /// The caller's stack pointer would be past the end, so there is no such frame.
  @Test func walksAStackAtTheVeryEnd() {
    // A frame record directly at the end, and one that points outside.
    let end = UInt64.max - 15
    for next in [0, end, UInt64.max - 7, .max] {
      let snapshot = process(stack: [next, Self.code + 0x200], at: end)
      #expect(
        trace(snapshot).frames.map(\.address.value) == [Self.code + 0x100])
    }
    // If the record is one word pair lower, the frame exists.
    let snapshot = process(
      stack: [UInt64.max - 15, Self.code + 0x200, 0, 0], at: UInt64.max - 31)
    #expect(
      trace(snapshot).frames.map(\.address.value) == [Self.code + 0x100, Self.code + 0x200])
  }

  @Test func scansAStackAtTheVeryEnd() {
    var snapshot = process(stack: [1, 2, Self.code + 0x200], at: UInt64.max - 23)
    if case .x86_64(var context)? = snapshot.threads[0].context {
      context.rbp = 3
      snapshot.threads[0].context = .x86_64(context)
    }
    #expect(trace(snapshot).frames.map(\.trust) == [.context])
  }

  @Test func looksForAPartBehindAGapAtTheVeryEnd() {
    // The first part points into the gap. The second part ends with the address space, and its size is not a
    // multiple of a word.
    for count in [3, 8, 13, 24] {
      var snapshot = process(stack: [Self.start + 0x100, Self.code + 0x200], at: Self.start)
      snapshot.memory = MemorySnapshot(
        joining: snapshot.memory.regions + [
          MemoryRegion(
            address: Address(UInt64.max - UInt64(count - 1)),
            bytes: Array(repeating: 0xFF, count: count))
        ])
      #expect(trace(snapshot).frames.count == 2)
    }
  }

  @Test func capturedHeadersThatSayTheyFillTheAddressSpace() {
    for size in [0, 1, 1 << 63, .max] as [UInt64] {
      for place in [0, 0x800, 1 << 63, .max] as [UInt64] {
        let image = HandmadeImage(at: 0x40_0000, functions: [(0x100..<0x200, [])])
        var header = image.header
        // The address and the sizes in the second program header.
        for (offset, value) in [(64 + 56 + 16, place), (64 + 56 + 32, size), (64 + 56 + 40, size)] {
          header.replaceSubrange(offset..<offset + 8, with: littleEndian(value))
        }
        let memory = MemorySnapshot(joining: [
          MemoryRegion(address: 0x40_0000, bytes: header),
          MemoryRegion(address: 0x40_0800, bytes: image.frames),
        ])
        var module = ModuleSnapshot(address: 0x40_0000, size: 0x1000, path: "/m")
        for table in [nil, AddressRange(start: Address(place), byteCount: size)] {
          module.unwindTable = table
          _ = CFITable(captured: module, in: memory)?
            .row(at: 0x40_0180, loadBias: 0, registerCount: 17)
        }
      }
    }
  }

  @Test func aFunctionThatTheEndOfMemoryCuts() {
    let code: [UInt8] = [0x55, 0x48, 0x89, 0xE5] + [UInt8](repeating: 0x90, count: 44)
    let start = Address.highest &- 1
    #expect(
      FrameSetup(code: code, start: start, architecture: .x86_64)
        == .present(saved: start, done: 2))
    let arm: [UInt8] = [0xFD, 0x7B, 0xBF, 0xA9, 0xFD, 0x03, 0, 0x91]
    #expect(
      FrameSetup(code: arm, start: start, architecture: .arm64) == .present(saved: start, done: 6))
  }

  @Test func estimatesOfAnyGapAreNumbers() {
    func estimate(_ first: UInt64, _ step: UInt64, _ gap: UInt64) -> Int? {
      var finder = RecursionFinder()
      var pointer = Address(first)
      for index in 0..<60 {
        if index == 30 { pointer = pointer &+ gap }
        finder.add(function: 7, stackPointer: pointer, isBehindGap: index == 30)
        pointer = pointer &+ step
      }
      return finder.best?.estimatedInGap
    }
    #expect(estimate(0, 16, 16 * 1000) == 1000)
    // Products of the gap and the frames that need more than 64 bits, and sums that almost do.
    #expect(estimate(0, 16, 1 << 60) == 1 << 56)
    #expect(estimate(0, 1 << 57, .max - (1 << 62)) != nil)
    for first in [0, 1 << 63, .max - 4096] as [UInt64] {
      for step in [1, 16, 1 << 32, 1 << 58] as [UInt64] {
        for gap in [1, 1 << 31, (1 << 63) - 1, 1 << 63, .max - 64, .max] as [UInt64] {
          #expect((estimate(first, step, gap) ?? 0) >= 0)
        }
      }
    }
  }
}
