/// A wrong use of an object of libdispatch, at which libdispatch traps.
///
/// On Linux, libdispatch writes no message, so the function that trapped shows which check failed.
///
/// Source: swift-corelibs-libdispatch src/semaphore.c, src/queue.c and src/source.c, the calls of DISPATCH_CLIENT_CRASH.
package enum DispatchMisuse: String, Sendable, CaseIterable {
  case unbalancedLeave = "dispatch_group_leave"
  case releasedGroup = "_dispatch_group_dispose"
  case releasedSemaphore = "_dispatch_semaphore_dispose"
  case extraResume = "_dispatch_lane_resume"
  case releasedQueue = "_dispatch_queue_xref_dispose"
  case releasedSource = "_dispatch_source_xref_dispose"

  /// - Parameter function: the innermost function on the stack; the compiler may have moved its trap to a part such as
  ///   "dispatch_group_leave.cold.1".
  init?(function: String) {
    let found = Self.allCases.first {
      function == $0.rawValue || function.hasPrefix($0.rawValue + ".")
    }
    guard let found else { return nil }
    self = found
  }
}
