import CSignalSafe
import Foundation
import Testing

@testable import CrashHandler

@Suite struct ThreadTableTests {
  private func withTable(_ capacity: Int, _ body: (ThreadTable) throws -> Void) rethrows {
    let count = ThreadTable.slotCount(capacity)
    let base = UnsafeMutableRawPointer.allocate(
      byteCount: capacity * ThreadTable.stride, alignment: 16)
    let slots = UnsafeMutablePointer<UInt32>.allocate(capacity: count + 1)
    defer {
      unsafe base.deallocate()
      unsafe slots.deallocate()
    }
    unsafe slots.initialize(repeating: 0, count: count + 1)
    try body(
      unsafe ThreadTable(
        base: base, slots: slots, capacity: capacity, countWord: FutexWord(slots + count)))
  }

  @Test func findsEveryThreadAndNoOther() {
    withTable(100) { table in
      for round in 0..<3 {
        // Each thread ID of the second half maps to the same slot as one of the first half.
        let threads = (0..<50).map { Int32($0 + round) } + (0..<50).map { Int32($0 + 1024) }
        for thread in threads { #expect(table.add(thread)?.threadID == thread) }
        #expect(table.add(4000) == nil)
        #expect(threads.allSatisfy { table.find($0)?.threadID == $0 })
        #expect(table.find(4000) == nil && table.find(-1) == nil && table.find(0x7FFF_FFFF) == nil)
        #expect(table.count == 100)
        table.removeAll()
        #expect(table.count == 0 && threads.allSatisfy { table.find($0) == nil })
      }
    }
  }

  @Test func aTableOfOne() {
    withTable(1) { table in
      #expect(table.find(7) == nil)
      #expect(table.add(7) != nil && table.add(8) == nil)
      #expect(table.find(7) != nil && table.find(8) == nil)
    }
  }

  private func line(_ text: String) -> (name: String, line: ThreadLine)? {
    var bytes = Array(text.utf8)
    return unsafe bytes.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress,
        let line = unsafe ThreadLine(Bytes(base, count: buffer.count))
      else { return nil }
      let name = unsafe UnsafeRawBufferPointer(start: line.name.address, count: line.name.count)
      return (unsafe String(decoding: name, as: UTF8.self), line)
    }
  }

  private static let rest =
    "1 2 3 0 -1 4194304 10 0 0 0 1 2 0 0 39 -19 128 0 5000 1 2 18446744073709551615 1 2 3 4 5 0"
    + " 67108864 0 0 0 0 0 17 1 0 1073741826 0 0 0 1 2 3 4 5 6 7 0\n"

  @Test(arguments: [
    "worker", "a) S 1 (b", "", "x\ny\\z", "(", ")",
  ])
  func namesHoldAnyByte(_ name: String) throws {
    let read = try #require(line("42 (\(name)) S \(Self.rest)"))
    #expect(read.name == name)
    #expect(read.line.stateLetter == UInt8(ascii: "S"))
    #expect(read.line.niceValue == -19)
    #expect(read.line.blockedSignals == 1 << 26)
    #expect(read.line.schedulingPolicy == 2)
  }

  @Test(arguments: ["", "42", "42 (", "42 )", ") ("])
  func textsThatAreNoSuchLine(_ text: String) { #expect(line(text) == nil) }

  @Test func aCutLineHasWhatIsThere() throws {
    let read = try #require(line("42 (a) D 1 2"))
    #expect(read.line.stateLetter == UInt8(ascii: "D") && read.line.blockedSignals == 0)
  }
}
