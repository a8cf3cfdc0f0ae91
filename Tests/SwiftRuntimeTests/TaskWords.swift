import SwiftRuntime

/// Memory that consists of words, with tasks in the layout of Swift 6.3; the addresses at 0x400000 are code.
struct TaskWords: TaskMemory {
  static let runtime = TaskRuntime(
    metadata: 0x7F00_1000, slabMetadata: 0x7F00_2000, adapters: [0x40_0F00])

  var words: [UInt64: UInt64] = [:]

  func word(at address: UInt64) -> UInt64? { words[address] }
  func isCode(_ address: UInt64) -> Bool { (0x40_0000..<0x41_0000).contains(address) }

  mutating func add(_ values: [UInt64], at address: UInt64) {
    for (index, value) in values.enumerated() { words[address + UInt64(index * 8)] = value }
  }

  /// Adds a task object, followed by its slab and two contexts.
  ///
  /// - Parameters:
  ///   - subject: what the task waits for, and the kind of the subject; nil for a task that waits for nothing.
  ///   - parent: the parent of a child task.
  mutating func addTask(
    _ id: UInt64, at address: UInt64, status: UInt64, subject: (UInt64, kind: UInt64)? = nil,
    parent: UInt64? = nil, code: UInt64 = 0x40_0100
  ) {
    let flags: UInt64 = (parent == nil ? 0x0200_1500 : 0x0700_1500) | id << 32
    let record = address + 0x300
    add([Self.runtime.metadata, 0x2_0000_0003, 0, 1], at: address)
    add([flags, 0, 0, code, address + 0x200, 0], at: address + 0x20)
    add([0, 0, status, subject == nil ? 0 : record], at: address + 0x50)
    add([0, address + 0x140, 0, 0, 0, 0x15, subject == nil ? 0 : record], at: address + 0x70)
    if let parent { add([parent, 0, 0], at: address + 0xD0) }
    add([Self.runtime.slabMetadata, 0, 0], at: address + 0x140)
    add([0x40_0300, 0, 0], at: address + 0x1E8)
    add([address + 0x240, 0x40_0200], at: address + 0x200)
    add([0, 0x40_0400], at: address + 0x240)
    if let subject { add([0, 0, subject.0, 0, subject.kind, address], at: record) }
  }
}
