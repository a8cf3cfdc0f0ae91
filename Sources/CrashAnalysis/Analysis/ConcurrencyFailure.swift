internal import Stackwalk

/// A rule of the Swift concurrency runtime that the program broke.
///
/// The runtime writes its message only to standard error, so the failure is recognized by the functions on the stack.
///
/// Source: swift stdlib/public/Concurrency/Error.cpp, swift_Concurrency_fatalError, and its callers.
package enum ConcurrencyFailure: String, Sendable {
  case taskAllocation = "swift-task-allocation"
  case actorIsolation = "swift-actor-isolation"
  case other = "swift-concurrency"

  /// Finds the broken rule from the crashing thread's frames; nil if the concurrency runtime did not end the process.
  init?(of frames: [StackFrame]) {
    let functions = frames.prefix(16).compactMap(\.linkageName)
    guard let end = functions.lastIndex(where: { $0.contains("swift_Concurrency_fatalError") })
    else { return nil }
    let callers = functions[(end + 1)...].prefix(3)
    self =
      if callers.contains(where: {
        $0.contains("StackAllocator") || $0.contains("swift_task_dealloc")
      }) {
        .taskAllocation
      } else if callers.contains(where: { $0.contains("UnexpectedExecutor") }) {
        .actorIsolation
      } else {
        .other
      }
  }
}
