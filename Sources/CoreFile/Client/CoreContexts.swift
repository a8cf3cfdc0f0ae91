internal import IntermediateDump
internal import ProcessSnapshot

/// The contexts that `withContext` set in each thread, found in the lists of Swift's task-local values.
///
/// In a crash, the handler finds them by the same rules (`ContextsSection.swift`).
///
/// Source: swift include/swift/ABI/TaskLocal.h, class Item; stdlib/public/Concurrency/TaskLocal.cpp, class
/// FallbackTaskLocalStorage (for threads without a task); CSignalSafe/include/pm_work.h.
struct CoreContexts {
  private static let walkLimit = 256
  /// The offset of a task-local value in its item, `PM_WORK_VALUE_OFFSET`.
  private static let valueOffset: UInt64 = 24

  private let snapshot: ProcessSnapshot
  private let key: UInt64
  private let type: UInt64
  /// The offset, in a task, of the head of the task's list of task-local values; `threadHead` is the offset, from the
  /// thread pointer, of the word that points to the head of the thread's list.
  private let taskHead: UInt64
  private let threadHead: UInt64
  private var memory: MemorySnapshot { snapshot.memory }

  /// - Parameters:
  ///   - places: the address of `pm_work_places_storage`. Its first word, for the key, is never set, so `key` is passed
  ///     separately.
  ///   - key: the address of `pm_work_key_storage`, which is the key of the task-local value.
  init?(of snapshot: ProcessSnapshot, places: Address, key: Address) {
    guard let type = snapshot.memory.word(at: places &+ 8),
      let taskHead = snapshot.memory.word(at: places &+ 16),
      let threadHead = snapshot.memory.word(at: places &+ 24)
    else { return nil }
    (self.snapshot, self.key) = (snapshot, key.value)
    (self.type, self.taskHead, self.threadHead) = (type, taskHead, threadHead)
  }

  /// Adds the contexts, those of the crashed thread first, and the breadcrumbs of the crashed thread's work.
  func add(to client: inout ClientInformation, rings: WorkRingReader) {
    guard let crashed = snapshot.crashedThread else { return }
    var omitted: UInt64 = 0
    let ordered = [crashed] + snapshot.threads.filter { $0.id != crashed.id }
    for thread in ordered {
      guard let value = value(of: thread) else { continue }
      client.contexts += value.values.map { known in
        var context = ClientInformation.Context(
          threadID: thread.id, name: known.name, value: known.value)
        context.isCut = known.isCut
        return context
      }
      omitted = omitted.clampedAdding(value.omittedCount)
    }
    client.contextsOmitted = omitted > 0 ? omitted : nil
    if let work = value(of: crashed)?.work, work != 0 {
      client.workBreadcrumbs += rings.breadcrumbs(of: work)
    }
    client.workBreadcrumbs += rings.breadcrumbs(of: ownWork(of: crashed))
    client.workBreadcrumbs.sort { ($0.uptime ?? 0) < ($1.uptime ?? 0) }
  }

  /// The number of the unit of work for breadcrumbs that were written outside all contexts.
  ///
  /// This number consists of the lower 62 bits of the task's ID, with the highest bit set. If the thread ran no task,
  /// or the task's ID cannot be read, the number is the thread's ID.
  private func ownWork(of thread: ThreadSnapshot) -> UInt64 {
    guard let task = task(of: thread), let id = task.fields(in: memory)?.id else {
      return UInt64(thread.id)
    }
    return 1 << 63 | id & (1 << 62 - 1)
  }

  private func task(of thread: ThreadSnapshot) -> TaskSnapshot? {
    snapshot.tasks.first { $0.threadID == thread.id }
  }

  /// The current context of a thread's task, or of the thread itself if it runs no task.
  private func value(of thread: ThreadSnapshot) -> ContextRecord? {
    let head: Address
    if let task = task(of: thread) {
      guard Self.isPlace(taskHead) else { return nil }
      head = task.address &+ taskHead
    } else {
      guard Self.isPlace(threadHead), let pointer = thread.threadPointer,
        let storage = memory.word(at: pointer &+ threadHead), storage != 0
      else { return nil }
      head = Address(storage)
    }
    guard let first = memory.word(at: head) else { return nil }
    var item = first & ~7
    for _ in 0..<Self.walkLimit {
      guard item != 0, let link = memory.word(at: Address(item)) else { return nil }
      let isValue = link & 4 == 0
      guard isValue || link & 2 == 0 else { return nil }
      if isValue, memory.word(at: Address(item) &+ 8) == key,
        memory.word(at: Address(item) &+ 16) == type
      {
        return memory.bytes(at: Address(item) &+ Self.valueOffset, count: ContextRecord.size)
          .flatMap { ContextRecord($0) }
      }
      item = link & ~7
    }
    return nil
  }

  /// False for the two special values of an offset: 0 (not yet known) and `PM_WORK_NOWHERE` (not found).
  private static func isPlace(_ offset: UInt64) -> Bool { offset != 0 && offset & 7 == 0 }
}
