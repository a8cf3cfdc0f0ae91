internal import CSignalSafe
internal import IntermediateDump

/// Writes the `withContext` values of all threads, and the breadcrumbs of the work that the crashing thread was
/// doing.
///
/// RUNS-DURING-CRASH.
@c(pm_write_contexts) @_noLocks
func pm_write_contexts(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  if !capture.installed.isSanitized { ContextReader(capture).write() }
}

extension Capture {
  /// The `withContext` values that are active on this thread, in scratch memory.
  @_noLocks
  func contextsOfThisThread() -> ContextValue? {
    let (reader, pointer) = (ContextReader(self), pm_thread_pointer())
    return reader.context(task: reader.finder.task(at: pointer), threadPointer: pointer)
  }

  /// Writes the contexts of one thread; returns the number of contexts for which `context` had no room.
  @_noLocks
  func write(_ context: ContextValue, of thread: Int32) -> UInt64 {
    var offset = 0
    while let entry = context.entry(offset) {
      writer.startMap(.context)
      writer.identifier(.contextThreadID, thread)
      writer.property(.contextName, entry.name)
      writer.property(.contextValue, entry.value)
      if entry.isCut { writer.unsigned(.contextIsCut, 1, width: 1) }
      writer.end()
      offset = entry.next
    }
    return context.omittedCount
  }
}

/// Finds the `withContext` values of threads, and the breadcrumbs of the work that the crashing thread was doing.
///
/// A context value is invalid if its memory has been reused; a thread with an invalid value is written without
/// contexts.
///
/// RUNS-DURING-CRASH. Source: swift include/swift/ABI/TaskLocal.h, class Item; for a thread without a task,
/// stdlib/public/Concurrency/TaskLocal.cpp, class FallbackTaskLocalStorage.
@safe
private struct ContextReader {
  /// The maximum number of task-local values, of all keys, that are visited in one list.
  private static var walkLimit: Int { 256 }
  /// The offsets, in a part of scratch memory that `TaskFinder` does not use, of an item, a context value and a
  /// breadcrumb.
  private static var itemOffset: Int { 12288 }
  private static var valueOffset: Int { 12544 }
  private static var breadcrumbOffset: Int { 13056 }

  private let places: pm_work_places
  fileprivate let finder: TaskFinder
  private let capture: Capture

  fileprivate init(_ capture: Capture) {
    self.capture = capture
    places = pm_work_places()
    finder = TaskFinder(capture)
  }

  fileprivate func write() {
    let (thread, others) = (capture.session.exception.threadID, capture.session.threads)
    var pointer: UInt64 = 0
    if capture.capturesItself {
      pointer = pm_thread_pointer()
    } else if let record = others.find(thread), record.status.isStill {
      pointer = record.fields.threadPointer
    }
    let task = finder.task(at: pointer)
    var omitted: UInt64 = 0
    var work: UInt64 = 0
    capture.writer.startArray(.contexts)
    if let context = context(task: task, threadPointer: pointer) {
      work = context.work
      omitted = capture.write(context, of: thread)
    }
    if places.type != 0 { omitted &+= writeAll(others, except: thread) }
    capture.endArray(.contextsOmitted, omitted)
    capture.writer.startArray(.workBreadcrumbs)
    if work != 0 { writeBreadcrumbs(of: work) }
    if let task {
      if let id = id(of: task) { writeBreadcrumbs(of: WorkKey.task(id)) }
    } else {
      writeBreadcrumbs(of: WorkKey.thread(thread))
    }
    capture.writer.end()
  }

  /// Writes the contexts of the other threads; returns the number of contexts for which the threads' `ContextValue`s
  /// had no room.
  private func writeAll(_ threads: ThreadTable, except first: Int32) -> UInt64 {
    var omitted: UInt64 = 0
    var read = 0
    for index in Indices(threads.count) {
      if index >= read { read = finder.readBlocks(of: threads, from: index) }
      let record = threads[index]
      guard record.status.isStill, record.threadID != first else { continue }
      let pointer = record.fields.threadPointer
      if let context = context(task: finder.task(at: pointer), threadPointer: pointer) {
        omitted &+= capture.write(context, of: record.threadID)
      }
    }
    return omitted
  }

  /// Returns the current context value of a task, or of a thread that runs no task.
  fileprivate func context(task: UInt64?, threadPointer: UInt64) -> ContextValue? {
    let place = task == nil ? places.thread_head : places.task_head
    guard place != 0, place & 7 == 0, threadPointer != 0 else { return nil }
    var head = (task ?? threadPointer) &+ UInt64(bitPattern: place)
    if task == nil {
      guard let storage = finder.memory.word(head), storage != 0 else { return nil }
      head = storage
    }
    guard let first = finder.memory.word(head) else { return nil }
    return context(in: first)
  }

  /// Returns the first context value in a list of task-local values.
  private func context(in first: UInt64) -> ContextValue? {
    let item = finder.scratch.dropFirst(ContextReader.itemOffset)
    let headSize = Int(PM_WORK_VALUE_OFFSET)
    var address = first & ~7
    for _ in Indices(ContextReader.walkLimit) where address != 0 {
      guard finder.memory.copy(address, to: item, count: headSize) >= 8 else { return nil }
      let link = item.word(0)
      let isValue = link & 4 == 0
      guard isValue || link & 2 == 0 else { return nil }
      if isValue, item.word(8) == places.key, item.word(16) == places.type {
        return value(at: address &+ UInt64(truncatingIfNeeded: headSize))
      }
      address = link & ~7
    }
    return nil
  }

  private func value(at address: UInt64) -> ContextValue? {
    let place = finder.scratch.dropFirst(ContextReader.valueOffset)
    let size = ContextValue.byteCount
    guard place.size >= size, finder.memory.copy(address, to: place, count: size) == size else {
      return nil
    }
    let value = unsafe ContextValue(place.address)
    return value.isValid ? value : nil
  }

  /// Returns the number that the Swift runtime gave the task; see `TaskLayout`.
  private func id(of task: UInt64) -> UInt64? {
    guard finder.facts.layout_version == TaskLayout.version,
      let flags = finder.memory.word(task &+ TaskLayout.flags),
      let upper = finder.memory.word(task &+ TaskLayout.upperID)
    else { return nil }
    return TaskLayout.id(flags: flags, upper: upper)
  }

  private func writeBreadcrumbs(of work: UInt64) {
    let place = finder.scratch.dropFirst(ContextReader.breadcrumbOffset)
    guard place.size >= BreadcrumbRing.stride else { return }
    let rings = WorkRings.ofProcess
    var next = 0
    var count = unsafe rings.read(work, next: &next, into: place.address)
    while count >= 0 {
      capture.writeBreadcrumb(place, count: count)
      count = unsafe rings.read(work, next: &next, into: place.address)
    }
  }
}
