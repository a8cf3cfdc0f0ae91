internal import IntermediateDump

/// A task of Swift concurrency that a thread was running at the crash.
public struct TaskSnapshot: Sendable, Equatable {
  /// The kernel's ID of the thread that ran the task.
  public var threadID: UInt32
  /// The address of the task's object.
  public var address: Address
  /// The version of the memory layout that the Swift runtime uses for tasks; this package can read version 1.
  public var layoutVersion: UInt32

  public init(threadID: UInt32, address: Address, layoutVersion: UInt32) {
    self.threadID = threadID
    self.address = address
    self.layoutVersion = layoutVersion
  }
}

extension TaskSnapshot {
  private static let recordLimit = 64
  private static let nameLimit = 256
  /// The kind of the status record that contains the task's name: `TaskStatusRecordKind::TaskName`.
  private static let nameRecord: UInt64 = 6

  /// What the memory of the task's object contains.
  public struct Fields: Sendable, Equatable {
    /// The number that the runtime gave to the task; `Task` has no API that returns it.
    public var id: UInt64
    /// The name that the program gave to the task, for example with `Task(name:)`.
    public var name: String?
    /// The `TaskPriority.rawValue` with which the task was created; `priority` is the highest value since then.
    public var basePriority: UInt8?
    public var priority: UInt8
    public var isCancelled: Bool
    /// True for a child task, which `async let` or a task group created.
    public var isChild: Bool
  }

  /// Reads the fields from captured memory; never traps, whatever the memory contains.
  ///
  /// - Parameter memory: the memory of the snapshot.
  /// - Returns: the fields; nil if the memory of the task's object was not captured, the runtime has another layout, or
  ///   the memory is not that of a task.
  public func fields(in memory: MemorySnapshot) -> Fields? {
    guard layoutVersion == TaskLayout.version,
      let flags = memory.word(at: address &+ TaskLayout.flags),
      // Only a job of kind 0 is a task.
      flags & 0xFF == 0
    else { return nil }
    let status = memory.word(at: address &+ TaskLayout.status)
    let upper = memory.word(at: address &+ TaskLayout.upperID) ?? 0
    return Fields(
      id: TaskLayout.id(flags: flags, upper: upper), name: name(in: memory),
      basePriority: memory.word(at: address &+ TaskLayout.basePriority).map {
        UInt8(truncatingIfNeeded: $0)
      },
      priority: UInt8(truncatingIfNeeded: status ?? flags >> 8),
      isCancelled: status.map { $0 & 0x100 != 0 } ?? false,
      // The mask covers bits 24, 26 and 28, which mean a child task, a child of a group, and async let.
      isChild: flags & 0x1500_0000 != 0)
  }

  /// Finds the task's name in a status record, which has a kind, the address of the next record, and the address of
  /// the text.
  private func name(in memory: MemorySnapshot) -> String? {
    var record = Address(memory.word(at: address &+ TaskLayout.firstRecord) ?? 0)
    var count = 0
    while record != 0, count < Self.recordLimit, let kind = memory.word(at: record) {
      if kind & 0xFF == Self.nameRecord {
        return memory.word(at: record &+ 16)
          .flatMap { memory.text(at: Address($0), limit: Self.nameLimit) }
      }
      record = Address(memory.word(at: record &+ 8) ?? 0)
      count += 1
    }
    return nil
  }
}

extension TaskSnapshot {
  static let mapFields = MapFields(
    TaskSnapshot(threadID: 0, address: 0, layoutVersion: 0),
    [
      .required(.taskThreadID, \.threadID),
      .required(.taskAddress, \.address),
      .value(.taskLayoutVersion, \.layoutVersion),
    ])
}

extension TaskSnapshot {
  /// The used parts of the task's slabs, of which at most 64 are visited.
  ///
  /// A slab begins with a header of 32 bytes, of which the upper half of the third word is how many bytes are used.
  ///
  /// Source: swift stdlib/public/runtime/StackAllocator.h.
  package func slabs(in memory: MemorySnapshot) -> [AddressRange] {
    var found: [AddressRange] = []
    var slab = memory.word(at: address &+ TaskLayout.firstSlab).map { Address($0) }
    while let place = slab, place != 0, found.count < 64,
      let sizes = memory.word(at: place &+ 16)
    {
      found.append(AddressRange(start: place, byteCount: (sizes >> 32) &+ 32))
      slab = memory.word(at: place &+ 8).map { Address($0) }
    }
    return found
  }
}
