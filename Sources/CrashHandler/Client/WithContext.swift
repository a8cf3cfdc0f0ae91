internal import CSignalSafe

/// Runs an operation with a named value, such as a request's ID.
///
/// A report shows the value for each thread that was inside the operation.
///
/// ```swift
/// try await withContext("request-id", request.id) {
///   try await handle(request)
/// }
/// ```
///
/// The value belongs to this unit of work, not to the process. If many requests run at the same time, a crash report
/// first shows the value of the request that crashed, and then the values on other threads. The value is inherited
/// like a task-local value: across each `await`, and by `async let`, task groups and `Task { }`. `Task.detached`,
/// closures passed to Dispatch or to a thread, and callbacks of an event loop's future do not inherit the value; call
/// `withContext` inside these. Contexts can be nested; the innermost of several contexts with the same name is used.
///
/// A call takes about 100 nanoseconds, never locks, and can be made before `startHandler`. The value is stored in the
/// task's memory, or, on a thread that runs no task, in memory that Swift allocates. A `Task { }` gets a copy, which
/// outlives this call.
///
/// - Parameters:
///   - name: at most 64 bytes; a context with a longer name is left out and counted. The names and values of nested
///     contexts share 232 bytes, and each context takes another 2 of these bytes. A value that does not fit is cut
///     and marked as cut. If fewer than 32 bytes are left for it, the outermost contexts are left out and counted.
///   - value: text, in UTF-8.
///   - operation: the closure to run; it runs once, on the calling thread.
/// - Returns: the operation's result.
/// - Throws: the operation's error.
///
/// Source: Swift Evolution SE-0311, task-local values.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ name: StaticString, _ value: String, operation: () throws(Failure) -> Result
) throws(Failure) -> Result {
  let scope = ContextScope(name, value)
  defer { scope.end() }
  return try operation()
}

/// A context that begins with `init` and ends when `end` is called.
package struct ContextScope {
  /// True if the context is stored; false in a program without Swift concurrency.
  private let isKept: Bool
  /// The key of the unit of work that begins with this context; 0 inside another context.
  private let ownWork: UInt64

  @inline(never)
  package init(_ name: StaticString, _ value: String) {
    let outer = unsafe pm_work_value().map { unsafe ContextValue($0) }
    let ownWork = outer == nil ? WorkKey.context(pm_new_work()) : 0
    self.ownWork = ownWork
    isKept = unsafe withUnsafeTemporaryAllocation(
      byteCount: ContextValue.byteCount, alignment: 16
    ) { memory in
      guard let base = memory.baseAddress else { return false }
      let context = unsafe ContextValue(base)
      context.begin(inside: outer, work: ownWork, adding: name, value)
      context.seal()
      return unsafe pm_push_work(base, ContextStorage.type)
    }
  }

  @inline(never)
  package func end() {
    guard isKept else { return }
    if let value = unsafe pm_work_value() { unsafe ContextValue(value).breakSeal() }
    pm_pop_work()
    if ownWork != 0 { WorkRings.ofProcess.retire(ownWork) }
  }
}

extension ContextValue {
  fileprivate func begin(
    inside outer: ContextValue?, work: UInt64, adding name: StaticString, _ value: String
  ) {
    unsafe ClientText.withBytes(of: name, atMost: .max) { name, nameCount in
      unsafe begin(
        inside: outer, work: work, adding: Bytes(name, count: nameCount),
        valueCount: value.utf8.count)
      guard let room = room(nameCount: nameCount) else { return omit() }
      unsafe ClientText.withBytes(of: value, atMost: room) { bytes, count in
        unsafe add(
          name: Bytes(name, count: nameCount), value: Bytes(bytes, count: count),
          isCut: count < value.utf8.count)
      }
    }
  }
}

/// The type of the task-local value that is passed to the Swift runtime.
///
/// A value of this type has `ContextValue.byteCount` bytes, which the runtime may copy bitwise.
private struct ContextStorage {
  private typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  private let words: (Words, Words, Words, Words)

  static var type: UnsafeRawPointer {
    unsafe unsafeBitCast(ContextStorage.self as Any.Type, to: UnsafeRawPointer.self)
  }
}
