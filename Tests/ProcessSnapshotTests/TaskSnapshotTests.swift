import ProcessSnapshot
import Testing

/// Reads a task's fields from memory in the layout of Swift 6.3's runtime.
@Suite struct TaskSnapshotTests {
  static let address: UInt64 = 0x5555_0000_1000

  /// 512 bytes with a task, its status records and its name.
  private func words(_ change: (inout [Int: UInt64]) -> Void = { _ in }) -> MemorySnapshot {
    var words: [Int: UInt64] = [
      0x20: 7 << 32 | 0x4200_1500,
      // The task is running, with a raised priority.
      0x60: 0x815,
      0x68: Self.address + 0x100,
      0x90: 1,
      0x98: 0x11,
      // A record of another kind, then the name's record.
      0x100: 3, 0x108: Self.address + 0x120,
      0x120: 6, 0x128: 0, 0x130: Self.address + 0x180,
    ]
    change(&words)
    var bytes = [UInt8](repeating: 0, count: 512)
    for (offset, word) in words {
      for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: word >> (8 * index)) }
    }
    bytes.replaceSubrange(0x180..<0x188, with: Array("importer".utf8))
    return MemorySnapshot(joining: [MemoryRegion(address: Address(Self.address), bytes: bytes)])
  }

  private let task = TaskSnapshot(threadID: 1, address: Address(Self.address), layoutVersion: 1)

  @Test func fields() throws {
    let fields = try #require(task.fields(in: words()))
    #expect(fields.id == 1 << 32 | 7)
    #expect(fields.name == "importer")
    #expect(fields.priority == 0x15)
    #expect(fields.basePriority == 0x11)
    #expect(!fields.isCancelled && !fields.isChild)
    let child = task.fields(
      in: words {
        $0[0x20] = 7 << 32 | 0x0500_1500
        $0[0x60] = 0x915
      })
    #expect(child?.isChild == true && child?.isCancelled == true)
  }

  @Test func whatIsNoTaskHasNone() {
    #expect(task.fields(in: MemorySnapshot()) == nil)
    // A job that is not a task.
    #expect(task.fields(in: words { $0[0x20] = 0x4200_15C0 }) == nil)
    let later = TaskSnapshot(threadID: 1, address: Address(Self.address), layoutVersion: 2)
    #expect(later.fields(in: words()) == nil)
  }

  @Test func recordsThatPointInCycles() {
    let memory = words {
      $0[0x100] = 3
      $0[0x108] = Self.address + 0x100
    }
    #expect(task.fields(in: memory)?.name == nil)
    #expect(task.fields(in: memory)?.priority == 0x15)
  }

  @Test func cutMemoryNeverTraps() {
    let bytes = words().regions[0].bytes
    for count in stride(from: 1, through: bytes.count, by: 7) {
      let memory = MemorySnapshot(joining: [
        MemoryRegion(address: Address(Self.address), bytes: Array(bytes.prefix(count)))
      ])
      let fields = task.fields(in: memory)
      #expect((fields != nil) == (count >= 0x28))
    }
    for round in 0..<200 as Range<UInt64> {
      let noise = (0..<512 as Range<UInt64>).map { index in
        UInt8(truncatingIfNeeded: (index &+ round &* 613) &* 0x9E37_79B9_7F4A_7C15 >> 40)
      }
      let memory = MemorySnapshot(joining: [
        MemoryRegion(address: Address(Self.address), bytes: noise)
      ])
      _ = task.fields(in: memory)
    }
  }
}
