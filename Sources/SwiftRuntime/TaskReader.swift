internal import IntermediateDump

/// Reads task objects of Swift concurrency, and rejects memory that only looks like a task object.
///
/// Nothing that is read here can cause a trap, whatever the memory contains.
///
/// Source: swift include/swift/ABI/TaskStatus.h, class TaskDependencyStatusRecord.
///
/// The parent of a child task is right after the object (`TaskLayout`); the task group of a group's child is 16 bytes
/// after the end of the object.
package struct TaskReader<Memory: TaskMemory> {
  /// The maximum number of functions that are read from the chain of a task's suspended functions.
  package static var frameLimit: Int { 16 }

  /// The known bits of the flags: the priority (0xFF00), a child task, a future, a child of a group, `async let`, a
  /// preferred executor, a name; an object with other flags is not read as a task.
  private static var knownFlags: UInt64 { 0x7700_FF00 }
  private static var childFlags: UInt64 { 0x1500_0000 }
  private static var childFlag: UInt64 { 0x0100_0000 }
  private static var groupChildFlag: UInt64 { 0x0400_0000 }
  /// The bits that the status of a task may have in the known layout of the runtime; the low byte is the priority.
  private static var knownStatus: UInt64 { 0xFFFF }
  private static var isRunning: UInt64 { 0x800 }
  private static var isEnqueued: UInt64 { 0x1000 }
  private static var isComplete: UInt64 { 0x2000 }
  private static var hasDependency: UInt64 { 0x4000 }
  /// The highest kind of status record that is known, and the first of the kinds that the runtime reserves for itself.
  private static var recordKinds: (last: UInt64, reserved: UInt64) { (15, 192) }
  /// The bit of a reference count that is set while an object is destroyed, and the bit that is set if the count is
  /// stored elsewhere.
  private static var isDestroyed: UInt64 { 1 << 32 }
  private static var isElsewhere: UInt64 { 1 << 63 }

  private let runtime: TaskRuntime
  private let memory: Memory

  package init(_ runtime: TaskRuntime, _ memory: Memory) {
    (self.runtime, self.memory) = (runtime, memory)
  }

  /// The task object at an address; nil if there is none, if the task has ended, or if its memory cannot be read or is
  /// inconsistent.
  package func task(at address: UInt64) -> FoundTask? {
    guard address >= 0x10000, address & (TaskRuntime.alignment - 1) == 0,
      memory.word(at: address) == runtime.metadata, isAlive(address),
      let flags = memory.word(at: address &+ TaskLayout.flags),
      let status = memory.word(at: address &+ TaskLayout.status),
      let high = memory.word(at: address &+ TaskLayout.upperID),
      let base = memory.word(at: address &+ TaskLayout.basePriority)
    else { return nil }
    // The lowest byte of the flags is the kind of the job, which is 0 for a task.
    guard flags & 0xFFFF_FFFF & ~Self.knownFlags == 0, flags >> 32 != 0 || high & 0xFFFF_FFFF != 0,
      high & 0xFFF0_0000 == 0, flags & Self.childFlags == 0 || flags & Self.childFlag != 0
    else { return nil }
    // In a task, the current priority is never lower than the base priority, which the task got when it was created.
    guard status & ~Self.knownStatus == 0, status & Self.isComplete == 0,
      base <= 0xFF, status & 0xFF >= base, hasRecordsAndSlabs(address)
    else { return nil }
    guard let code = memory.word(at: address &+ TaskLayout.function), memory.isCode(code),
      let wait = wait(of: address, status)
    else { return nil }
    var task = FoundTask(
      address: address, id: TaskLayout.id(flags: flags, upper: high),
      flags: UInt32(truncatingIfNeeded: flags), status: UInt32(truncatingIfNeeded: status),
      state: wait.state, parent: 0, awaited: wait.task, frames: [])
    if flags & Self.childFlag != 0 {
      guard let parent = memory.word(at: address &+ runtime.taskSize), parent != address,
        memory.word(at: parent) == runtime.metadata
      else { return nil }
      task.parent = parent
      if flags & Self.groupChildFlag != 0 {
        task.group = memory.word(at: address &+ runtime.taskSize &+ 16) ?? 0
      }
    }
    task.awaitedGroup = wait.group
    task.work = runtime.contexts.map { work(of: address, $0) } ?? 0
    task.name = name(of: address)
    // Reject a copy of a task object in other memory: no record of the runtime points to the copy, and the copy's slab
    // and contexts are next to the original.
    guard wait.hasRecord || isWhole(address) else { return nil }
    guard wait.state != .running else { return task }
    return read(code, into: &task) ? task : nil
  }

  /// The maximum number of task-local values that are examined.
  private static var localValueLimit: Int { 64 }

  /// The number of the unit of work to which a task belongs; 0 if none is found.
  ///
  /// The task's list of task-local values contains the number. An item of this list has these offsets: next item and
  /// kind 0x00, key 0x08, type 0x10, value 0x18. The number is the second word of the value.
  ///
  /// Source: swift include/swift/ABI/TaskLocal.h, class Item; CSignalSafe/include/pm_work.h.
  private func work(of address: UInt64, _ place: TaskRuntime.ContextPlace) -> UInt64 {
    guard var item = memory.word(at: address &+ place.head).map({ $0 & ~7 }) else { return 0 }
    for _ in 0..<Self.localValueLimit {
      guard item != 0, let link = memory.word(at: item), link & 6 != 6 else { return 0 }
      if link & 4 == 0, memory.word(at: item &+ 8) == place.key,
        memory.word(at: item &+ 16) == place.type
      {
        return memory.word(at: item &+ 32) ?? 0
      }
      item = link & ~7
    }
    return 0
  }

  /// The kind of the status record that contains a task's name, and the limits of records and bytes that are read.
  private static var nameRecord: UInt64 { 6 }
  private static var recordLimit: Int { 16 }
  private static var nameLimit: Int { 64 }

  /// The name in the task's status records.
  ///
  /// A record has these fields: the kind at offset 0x00, the next record at 0x08; the address of the name at 0x10.
  ///
  /// Source: swift include/swift/ABI/TaskStatus.h, class TaskNameStatusRecord.
  private func name(of address: UInt64) -> String? {
    var record = memory.word(at: address &+ TaskLayout.firstRecord) ?? 0
    for _ in 0..<Self.recordLimit {
      guard record != 0, let kind = memory.word(at: record) else { return nil }
      if kind & 0xFF == Self.nameRecord {
        return memory.word(at: record &+ 16).flatMap { text(at: $0) }
      }
      record = memory.word(at: record &+ 8) ?? 0
    }
    return nil
  }

  /// The text at an address, up to a zero byte or `nameLimit`; nil if it is empty or cannot be read.
  private func text(at address: UInt64) -> String? {
    var bytes: [UInt8] = []
    var place = address & ~7
    while bytes.count < Self.nameLimit + 8, let word = memory.word(at: place) {
      let part = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
      bytes += place < address ? part.dropFirst(Int(address & 7)) : part[...]
      if bytes.contains(0) { break }
      place &+= 8
    }
    guard
      let end = bytes.firstIndex(of: 0) ?? (bytes.count >= Self.nameLimit ? Self.nameLimit : nil),
      end > 0
    else { return nil }
    return String(decoding: bytes.prefix(min(end, Self.nameLimit)), as: UTF8.self)
  }

  /// The maximum number of bytes between a task object and its first slab or first context, which the runtime
  /// allocates together with the object.
  private static var allocationLimit: UInt64 { 4096 }
  /// The maximum number of contexts that are followed to find the context of the task's first function.
  private static var contextLimit: Int { 64 }

  /// True if the task's first slab or the first function's context is less than `allocationLimit` bytes after the start
  /// of the task object.
  ///
  /// The runtime allocates the slab or the context together with the task object.
  private func isWhole(_ address: UInt64) -> Bool {
    func isBehind(_ place: UInt64) -> Bool {
      place > address && place &- address < Self.allocationLimit
    }
    guard let slab = memory.word(at: address &+ TaskLayout.firstSlab),
      var context = memory.word(at: address &+ TaskLayout.context)
    else { return false }
    if isBehind(slab) { return true }
    // If the runtime allocated the first slab later than the task object, the slab is elsewhere in memory. In this
    // case, the callers' contexts lead to the context of the first function.
    for _ in 0..<Self.contextLimit {
      if isBehind(context) { return true }
      guard context & 7 == 0, let parent = memory.word(at: context), parent != 0 else { break }
      context = parent
    }
    return false
  }

  private func isAlive(_ address: UInt64) -> Bool {
    guard let count = memory.word(at: address &+ TaskLayout.referenceCount) else { return false }
    return count & Self.isElsewhere != 0 || count & Self.isDestroyed == 0
  }

  private func hasRecordsAndSlabs(_ address: UInt64) -> Bool {
    guard let record = memory.word(at: address &+ TaskLayout.firstRecord),
      let slab = memory.word(at: address &+ TaskLayout.firstSlab)
    else { return false }
    if slab != 0, memory.word(at: slab) != runtime.slabMetadata { return false }
    guard record != 0 else { return true }
    guard let kind = memory.word(at: record).map({ $0 & 0xFF }) else { return false }
    return kind <= Self.recordKinds.last || kind >= Self.recordKinds.reserved
  }

  /// What a task does or waits for; nil if the task's fields are inconsistent.
  ///
  /// A record of what a task waits for has these fields: the kind of record at offset 0x00, the subject at 0x10, the
  /// kind of subject at 0x20, and the waiting task at 0x28.
  private func wait(of address: UInt64, _ status: UInt64) -> Wait? {
    guard let record = memory.word(at: address &+ TaskLayout.dependency) else { return nil }
    if status & Self.isRunning != 0 {
      return status & (Self.isEnqueued | Self.hasDependency) == 0 ? Wait(state: .running) : nil
    }
    guard status & Self.hasDependency != 0 else {
      guard record == 0 else { return nil }
      return Wait(state: status & Self.isEnqueued != 0 ? .ready : .suspended)
    }
    guard record != 0, memory.word(at: record).map({ $0 & 0xFF }) == 0,
      memory.word(at: record &+ 0x28) == address,
      let subject = memory.word(at: record &+ 0x10), let kind = memory.word(at: record &+ 0x20)
    else { return nil }
    let state: TaskState
    switch (kind & 0xFFFF_FFFF, status & Self.isEnqueued != 0) {
    case (1, false) where memory.word(at: subject) == runtime.metadata: state = .awaitsTask
    case (2, false) where memory.word(at: subject) != nil: state = .awaitsContinuation
    case (3, false) where memory.word(at: subject) != nil: state = .awaitsGroup
    // A task without an actor runs on the cooperative pool, which is the executor 0.
    case (4, true): state = subject == 0 ? .ready : .awaitsActor
    default: return nil
    }
    return Wait(
      state: state, task: state == .awaitsTask ? subject : 0,
      group: state == .awaitsGroup ? subject : 0, hasRecord: true)
  }

  private struct Wait {
    let state: TaskState
    var task: UInt64 = 0
    var group: UInt64 = 0
    /// True if the runtime's record of the wait leads back to the task.
    var hasRecord = false
  }

  /// Reads the functions in which a suspended task continues, innermost first.
  ///
  /// A context begins with the address of the caller's context, followed by the address at which the caller continues.
  ///
  /// - Returns: false if the first context is not valid.
  private func read(_ code: UInt64, into task: inout FoundTask) -> Bool {
    guard var context = memory.word(at: task.address &+ TaskLayout.context) else { return false }
    var code = code
    if runtime.adapters.contains(code) {
      // The task has not started. The address of the closure that it will call is in the third word below its context.
      task.isAtStart = true
      if let closure = memory.word(at: context &- 24), memory.isCode(closure) { code = closure }
    }
    task.frames = [code]
    var isFirst = true
    while context != 0, task.frames.count < Self.frameLimit {
      guard context & 7 == 0, let parent = memory.word(at: context),
        let next = memory.word(at: context &+ 8), memory.isCode(next), parent != context
      else { return !isFirst }
      // The context of a continuation repeats the function of the task, so this function is not added a second time.
      if !isFirst || next != code { task.frames.append(next) }
      isFirst = false
      context = parent
    }
    return !isFirst
  }
}
