internal import IntermediateDump
internal import ProcessSnapshot

/// The values of `withContext` of all threads, found in the lists of Swift's task-local values.
///
/// The rules are the same as in the handler's `ContextsSection`.
///
/// Source: swift include/swift/ABI/TaskLocal.h, class Item; of a thread without a task
/// stdlib/public/Concurrency/TaskLocal.cpp, class FallbackTaskLocalStorage; CSignalSafe/include/pm_work.h.
struct CoreContexts {
  private static let walkLimit = 256
  /// The offset of a task-local value in its item, `PM_WORK_VALUE_OFFSET`.
  private static let valueOffset: UInt64 = 24

  private let snapshot: ProcessSnapshot
  private let key: UInt64
  private let type: UInt64
  /// The offset in a task at which the list's head is stored; `threadHead` is the offset from the thread pointer at
  /// which a pointer to the list's head is stored.
  private let taskHead: UInt64
  private let threadHead: UInt64
  private var memory: MemorySnapshot { snapshot.memory }

  /// - Parameters:
  ///   - places: the address of `pm_work_places_storage`, whose first word the program does not use.
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
      client.contexts += value.contexts(of: thread.id)
      omitted = omitted.clampedAdding(value.omittedCount)
    }
    client.contextsOmitted = omitted > 0 ? omitted : nil
    if let work = value(of: crashed)?.work, work != 0 {
      client.workBreadcrumbs += rings.breadcrumbs(of: work)
    }
    client.workBreadcrumbs += rings.breadcrumbs(of: ownWork(of: crashed))
    client.workBreadcrumbs.sort { ($0.uptime ?? 0) < ($1.uptime ?? 0) }
  }

  /// The key of the breadcrumbs that the thread's task, or the thread itself if it ran no task, left outside all
  /// contexts.
  private func ownWork(of thread: ThreadSnapshot) -> UInt64 {
    guard let task = task(of: thread), let id = task.fields(in: memory)?.id else {
      return UInt64(thread.id)
    }
    return 1 << 63 | id & (1 << 62 - 1)
  }

  private func task(of thread: ThreadSnapshot) -> TaskSnapshot? {
    snapshot.tasks.first { $0.threadID == thread.id }
  }

  /// The current context value of a thread's task, or of a thread that runs no task.
  private func value(of thread: ThreadSnapshot) -> ContextValue? {
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
        return memory.bytes(at: Address(item) &+ Self.valueOffset, count: ContextValue.size)
          .flatMap { ContextValue(Array($0)) }
      }
      item = link & ~7
    }
    return nil
  }

  /// False for the special values of an offset: not yet known, and not found.
  private static func isPlace(_ offset: UInt64) -> Bool { offset != 0 && offset & 7 == 0 }

  /// The names and values of all contexts around a unit of work.
  ///
  /// Source: CrashHandler/State/Client/ContextValue.swift.
  private struct ContextValue {
    static let size = 256
    private static let (textOffset, textCapacity) = (24, 232)

    let work: UInt64
    let omittedCount: UInt64
    private let text: ArraySlice<UInt8>

    /// Nil if the value was overwritten or not completely written.
    init?(_ bytes: [UInt8]) {
      func word(_ offset: Int) -> UInt64 { bytes.littleEndian(at: offset, width: 8) ?? 0 }
      let count = Int(word(16) & 0xFFFF)
      guard word(16) >> 32 == 0, count <= Self.textCapacity else { return nil }
      var seal: UInt64 = 0x706D_2D63_6F6E_7478
      var factor: UInt64 = 0
      for offset in stride(from: 8, to: Self.textOffset + (count + 7) & ~7, by: 8) {
        factor &+= 0x9E37_79B9_7F4A_7C15
        seal &+= word(offset) &* (factor ^ factor >> 32 | 1)
      }
      guard word(0) == (seal == 0 ? 1 : seal) else { return nil }
      work = word(8)
      omittedCount = word(16) >> 16 & 0xFFFF
      text = bytes[Self.textOffset..<Self.textOffset + count]
    }

    func contexts(of thread: UInt32) -> [ClientInformation.Context] {
      var contexts: [ClientInformation.Context] = []
      var rest = text
      while rest.count >= 2 {
        let sizes = Array(rest.prefix(2))
        let (nameCount, valueCount) = (Int(sizes[0] & 0x7F), Int(sizes[1]))
        rest = rest.dropFirst(2)
        guard nameCount + valueCount <= rest.count else { break }
        var context = ClientInformation.Context(
          threadID: thread, name: String(decoding: rest.prefix(nameCount), as: UTF8.self),
          value: String(decoding: rest.dropFirst(nameCount).prefix(valueCount), as: UTF8.self))
        context.isCut = sizes[0] & 0x80 != 0
        contexts.append(context)
        rest = rest.dropFirst(nameCount + valueCount)
      }
      return contexts
    }
  }
}
