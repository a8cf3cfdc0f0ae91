import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis

/// The stack of a thread that panicked, with the words that rustc 1.95 writes there.
@Suite struct RustPanicTests {
  private static let (stack, heap, constants): (UInt64, UInt64, UInt64) = (
    0x7FFF_0000, 0x5000_0000, 0x4000_0000
  )

  /// - Parameter words: the stack from the handler's frame up.
  private func message(_ words: [UInt64], text: String, isNamed: Bool = true) -> String? {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    let file = Array("src/shop.rs".utf8)
    // The place: the file's name, line 6 and column 51.
    let place =
      littleEndian(Self.constants + 32) + littleEndian(UInt64(file.count))
      + littleEndian(51 << 32 | 6 as UInt64)
    snapshot.memory = MemorySnapshot(joining: [
      MemoryRegion(address: Address(Self.stack), bytes: words.flatMap { littleEndian($0) }),
      MemoryRegion(address: Address(Self.heap), bytes: Array(text.utf8)),
      MemoryRegion(
        address: Address(Self.constants), bytes: place + [UInt8](repeating: 0, count: 8) + file),
    ])
    func frame(_ function: String, _ name: String, _ offset: UInt64) -> StackFrame {
      var frame = StackFrame(function, symbol: name)
      frame.stackPointer = Address(Self.stack + offset)
      return frame
    }
    let frames =
      isNamed
      ? [
        frame("abort", "abort", 0),
        frame(
          "std::panicking::panic_handler::{closure#0}",
          "_RNCNvNtC3std9panicking13panic_handler0B5_", 8),
        frame("core::panicking::panic_fmt", "_RNvNtC4core9panicking9panic_fmt", 48),
        frame("shop::main", "_RNvC4shop4main", 96),
      ] : [frame("abort", "abort", 0), frame("begin_panic", "begin_panic", 8)]
    return RustPanic(frames, CodeReader(snapshot: snapshot))?.message
  }

  private let text = "index out of bounds: the len is 3 but the index is 7"

  @Test func aFormattedMessageAndItsPlaceAreFound() {
    let count = UInt64(text.utf8.count)
    #expect(
      message([0, 0, 64, Self.heap, count, 0, Self.constants, 0], text: text)
        == "panicked at src/shop.rs:6:51: \(text)")
    // A literal has no capacity before its address.
    #expect(
      message([0, Self.stack, Self.heap, 5, Self.constants], text: "plain words")
        == "panicked at src/shop.rs:6:51: plain")
  }

  @Test func whatTheStackLacksIsNotSaid() {
    let count = UInt64(text.utf8.count)
    #expect(message([0, 0, 64, Self.heap, count, 0, 0], text: text) == "panicked: \(text)")
    // The place is beyond the frames of Rust's library.
    let far = [0, 0, 64, Self.heap, count, 0, 0, 0, 0, 0, 0, 0, 0, Self.constants]
    #expect(message(far, text: text) == "panicked: \(text)")
    #expect(message([0, 0, 64, Self.heap, count + 1, 0], text: text) == nil)
    #expect(message([0, 0, 64, Self.heap, 4, 0], text: "a\u{1}bc") == nil)
    #expect(message([0, 0, 64, Self.heap, count, 0], text: text, isNamed: false) == nil)
  }
}
