import IntermediateDump
import Testing

@testable import SwiftRuntime

/// A search in memory of four pages, each of which has one task that waits for the task of the next page.
@Suite struct TaskSearchTests {
  private static let pageSize: UInt64 = 0x1000

  private final class Memory: SearchedMemory {
    private var tasks = TaskWords()
    let searched: [Range<UInt64>]
    /// The addresses of pages that cannot be read at once.
    var unreadable: Set<UInt64> = []
    var readableBytes: UInt64 = .max
    /// Changes the memory between the two readings of a cycle.
    var change: (inout TaskWords) -> Void = { _ in }

    init() {
      let places = (1...4 as ClosedRange<UInt64>).map { 0x1_0000 * $0 }
      for (index, place) in places.enumerated() {
        tasks.addTask(
          UInt64(index + 1), at: place + 0x100, status: 0x4015,
          subject: (places[(index + 1) % 4] + 0x100, 1))
      }
      searched = places.map { $0..<$0 + pageSize }
    }

    func word(at address: UInt64) -> UInt64? { tasks.word(at: address) }
    func isCode(_ address: UInt64) -> Bool { tasks.isCode(address) }
    func forgetPages() { change(&tasks) }

    func forEachPart(
      of region: Range<UInt64>, while mayRead: () -> Bool,
      _ body: (UnsafeRawBufferPointer, UInt64) -> Void
    ) -> UInt64 {
      guard mayRead(), !unreadable.contains(region.lowerBound) else { return pageSize }
      let words = stride(from: region.lowerBound, to: region.upperBound, by: 8).map {
        tasks.word(at: $0) ?? 0
      }
      unsafe words.withUnsafeBytes { unsafe body($0, region.lowerBound) }
      return 0
    }
  }

  private func found(
    _ memory: Memory, bytes: UInt64 = .max, time: UInt64 = 60_000_000_000, candidates: Int = 100,
    _ clock: TaskSearchLimits.Clock = .elapsed
  ) -> TaskCollection {
    TaskSearch(
      TaskWords.runtime, in: memory,
      TaskSearchLimits(bytes: bytes, time: time, clock, candidates: candidates)
    ).tasks()
  }

  @Test(arguments: [TaskSearchLimits.Clock.elapsed, .processor])
  func allTasksAndTheirCycleAreFound(_ clock: TaskSearchLimits.Clock) {
    let found = found(Memory(), clock)
    #expect(found.tasks.map(\.id) == [1, 2, 3, 4])
    #expect(found.bytesSeen == 4 * Self.pageSize && found.bytesUnseen == 0)
    #expect(found.grouped(limit: 8, recordLimit: 8).cycles == [[1, 2, 3, 4]])
  }

  @Test func whatIsBeyondALimitIsUnseen() {
    let some = found(Memory(), bytes: Self.pageSize + 1)
    #expect(some.tasks.map(\.id) == [1, 2])
    #expect(some.bytesSeen == 2 * Self.pageSize && some.bytesUnseen == 2 * Self.pageSize)
    let few = found(Memory(), candidates: 3)
    #expect(few.tasks.map(\.id) == [1, 2, 3])
    #expect(few.bytesUnseen == TaskWords.runtime.taskSize)
    let none = found(Memory(), time: 0)
    #expect(none.count == 0 && none.bytesSeen == 0 && none.bytesUnseen == 4 * Self.pageSize)
  }

  @Test func whatCannotBeReadIsUnseenIfItIsInMemory() {
    let memory = Memory()
    memory.unreadable = [0x1_0000, 0x3_0000]
    #expect(found(memory).tasks.map(\.id) == [2, 4])
    #expect(found(memory).bytesUnseen == 2 * Self.pageSize)
    memory.readableBytes = 2 * Self.pageSize + 8
    #expect(found(memory).bytesUnseen == 8)
  }

  @Test func aTaskThatChangesDuringTheSearchIsInNoCycle() {
    let memory = Memory()
    memory.change = { $0.words[0x2_0100] = 0 }
    let found = found(memory)
    #expect(found.count == 4)
    #expect(found.grouped(limit: 8, recordLimit: 8).cycles == [])
  }
}
