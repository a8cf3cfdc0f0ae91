internal import Dispatch
internal import Synchronization

/// Collects the results of a function for parts of `0..<count`; uses several processors if there are thousands of
/// elements.
///
/// Examining a report takes four system calls, which account for most of the time of listing reports; several
/// processors make these calls at the same time.
///
/// - Parameter body: called on any thread, with parts that together cover `0..<count`.
/// - Returns: all results; those of one part are in order, but the parts are not.
func collectConcurrently<Result: Sendable>(
  _ count: Int, _ body: @Sendable (Range<Int>) -> [Result]
) -> [Result] {
  let size = 2048
  guard count > size else { return body(0..<count) }
  let results = Mutex<[Result]>([])
  DispatchQueue.concurrentPerform(iterations: (count - 1) / size + 1) { number in
    let piece = body(number * size..<min(count, (number + 1) * size))
    results.withLock { $0 += piece }
  }
  return results.withLock { $0 }
}
