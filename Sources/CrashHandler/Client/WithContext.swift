internal import CSignalSafe
internal import PendingDumps

/// Runs an operation with a named value, such as a request's ID.
///
/// If `HandlerOptions.privacy` is `full`, a report shows the value for each thread that was inside the operation.
///
/// ```swift
/// try await withContext("request-id", request.id) {
///   try await handle(request)
/// }
/// ```
///
/// The value belongs to the work inside the call, not to the process. If many requests run at the same time, a crash
/// report first shows the value of the request that crashed, and then the values on other threads. The value is
/// inherited like a task-local value: across each `await`, and by `async let`, task groups and `Task { }`.
/// `Task.detached`, closures passed to Dispatch or to a thread, and callbacks of an event loop's future do not inherit
/// the value. Call `withContext` inside these, or pass the context to them with `WorkContext`. Contexts can be nested;
/// the innermost of several contexts with the same name is used.
///
/// A call takes about 120 nanoseconds, does not lock except in the process's first call, and can be made before
/// `startHandler`. The value is stored in the task's memory, or, on a thread that runs no task, in memory that Swift
/// allocates. A `Task { }` gets a copy, which outlives this call.
///
/// Reports also list the `withContext` calls that have begun and not ended, the oldest first, even if no thread runs
/// them.
///
/// - Parameters:
///   - name: at most 64 bytes; a context with a longer name is left out and counted. The names and values of nested
///     contexts share 232 bytes, and each context takes another 2 of these bytes. Values of outer contexts are cut,
///     down to about 32 bytes each, until the new value fits, or its first 32 bytes if it is longer. If that is not
///     enough, the outermost contexts are left out and counted. A new value that still does not fit is cut and marked
///     as cut.
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

/// Runs an operation with several named values, such as a request's ID and its user.
///
/// ```swift
/// try await withContext(["request-id": request.id, "route": route]) {
///   try await handle(request)
/// }
/// ```
///
/// This function works like `withContext(_:_:operation:)`, but sets several values. If there is not enough room for all
/// values, long values are cut first, down to 32 bytes each, so that a long value does not displace others.
///
/// - Parameters:
///   - values: names, at most 64 bytes each, and texts; of two values with the same name, the last one is used.
///   - operation: the closure to run; it runs once, on the calling thread.
/// - Returns: the operation's result.
/// - Throws: the operation's error.
public func withContext<Result: ~Copyable, Failure: Error>(
  _ values: KeyValuePairs<StaticString, String>, operation: () throws(Failure) -> Result
) throws(Failure) -> Result {
  let scope = ContextScope(values)
  defer { scope.end() }
  return try operation()
}

/// A context that begins with `init` and ends when `end` is called.
package struct ContextScope {
  /// False if the context is not stored, as in a program without Swift concurrency.
  private let isKept: Bool
  /// The entry in the table of open contexts; nil for a context without values.
  private let open: OpenContext?
  /// The key of the unit of work that begins with this context; 0 inside another context, or without values.
  private let ownWork: UInt64

  @inline(never)
  package init(_ name: StaticString, _ value: String) {
    let outer = unsafe pm_work_value().map { unsafe ContextValue($0) }
    let ownWork = outer == nil ? WorkKey.context(pm_new_work()) : 0
    self.ownWork = ownWork
    (isKept, open) = unsafe withUnsafeTemporaryAllocation(
      byteCount: ContextValue.byteCount, alignment: 16
    ) { memory in
      guard let base = memory.baseAddress else { return (false, nil) }
      let context = unsafe ContextValue(base)
      let mark = context.begin(inside: outer, work: ownWork, adding: name, value)
      return context.push(from: mark, isNested: outer != nil)
    }
  }

  @inline(never)
  package init(_ values: KeyValuePairs<StaticString, String>) {
    let outer = unsafe pm_work_value().map { unsafe ContextValue($0) }
    let ownWork = outer == nil && !values.isEmpty ? WorkKey.context(pm_new_work()) : 0
    self.ownWork = ownWork
    (isKept, open) = unsafe withUnsafeTemporaryAllocation(
      byteCount: 2 &* ContextValue.byteCount, alignment: 16
    ) { memory in
      guard !values.isEmpty, let base = memory.baseAddress else { return (false, nil) }
      // Each value is added to a copy of the record that holds the previous values.
      var context = unsafe ContextValue(base)
      var last = unsafe ContextValue(base + ContextValue.byteCount)
      var (around, mark) = (outer, outer?.textCount ?? 0)
      for (name, value) in values {
        swap(&context, &last)
        mark = context.begin(inside: around, work: ownWork, adding: name, value, mark: mark)
        around = context
      }
      return context.push(from: mark, isNested: outer != nil)
    }
  }

  /// Begins the context `taken`, which `WorkContext.capture` returned; it replaces the caller's context.
  @inline(never)
  package init(_ taken: WorkContext) {
    let isInContext = unsafe pm_work_value() != nil
    let isEmpty = taken.record == nil
    let ownWork = isEmpty && isInContext ? WorkKey.context(pm_new_work()) : 0
    self.ownWork = ownWork
    (isKept, open) = unsafe withUnsafeTemporaryAllocation(
      byteCount: ContextValue.byteCount, alignment: 16
    ) { memory in
      guard !isEmpty || isInContext, let base = memory.baseAddress else { return (false, nil) }
      let context = unsafe ContextValue(base)
      if let record = taken.record {
        unsafe base.storeBytes(of: record, as: ContextStorage.self)
      } else {
        // The captured context has no values, so the operation must not get the values of the calling task or thread.
        context.start(work: ownWork)
      }
      return context.push(from: 0, isNested: false)
    }
  }

  @inline(never)
  package func end() {
    guard isKept else { return }
    open?.close()
    if let value = unsafe pm_work_value() { unsafe ContextValue(value).breakSeal() }
    pm_pop_work()
    if ownWork != 0 { WorkRings.ofProcess.retire(ownWork) }
  }
}

extension ContextValue {
  /// Adds a context to a copy of the contexts around it.
  ///
  /// An outer context that has the name of the new context is left out, because the new context replaces it. If there
  /// would be no room for the new name and the beginning of the new value, long values of outer contexts are cut. If
  /// that is not enough, the outermost contexts are left out.
  ///
  /// - Parameters:
  ///   - outer: the contexts around the new one; nil if there are none.
  ///   - mark: the offset, in the text of `outer`, at which the contexts of this `withContext` call begin; `.max` if
  ///     `outer` has none.
  /// - Returns: the offset, in this record's text, at which the contexts of this `withContext` call begin.
  fileprivate func begin(
    inside outer: ContextValue?, work: UInt64, adding name: StaticString, _ value: String,
    mark: Int = .max
  ) -> Int {
    unsafe ClientText.withBytes(of: name, atMost: .max) { nameAddress, nameCount in
      let name = unsafe Bytes(nameAddress, count: nameCount)
      let newMark = copy(
        outer, work: work, addingName: name, valueCount: value.utf8.count, mark: mark)
      guard let room = room(nameCount: nameCount) else {
        omit()
        return newMark
      }
      unsafe ClientText.withBytes(of: value, atMost: room) { bytes, count in
        unsafe add(
          name: name, value: Bytes(bytes, count: count), isCut: count < value.utf8.count)
      }
      return newMark
    }
  }

  /// Makes this record the caller's context and, if it has text, adds it to the table of open contexts.
  ///
  /// - Parameter mark: the offset in the text at which the call's own values begin; outer contexts precede them.
  /// - Returns: whether the record is stored, and its entry in the table; the entry is nil if the record has none.
  fileprivate func push(from mark: Int, isNested: Bool) -> (Bool, OpenContext?) {
    seal()
    guard unsafe pm_push_work(base, ContextStorage.type) else { return (false, nil) }
    guard textCount > 0 else { return (true, nil) }
    let uptime = UInt64(bitPattern: SystemClock.sinceBoot)
    return (true, OpenContext(self, from: mark, isNested: isNested, uptime: uptime))
  }
}

/// The type of the task-local value that is passed to the Swift runtime.
///
/// A value of this type has `ContextValue.byteCount` bytes, which the runtime may copy bitwise.
struct ContextStorage: Sendable {
  private typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  private let words: (Words, Words, Words, Words)

  static var type: UnsafeRawPointer {
    unsafe unsafeBitCast(ContextStorage.self as Any.Type, to: UnsafeRawPointer.self)
  }
}
