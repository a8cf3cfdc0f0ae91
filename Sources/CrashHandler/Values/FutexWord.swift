internal import CSignalSafe

/// A 32-bit word in the handler's state that threads can set, compare and wait on.
///
/// RUNS-DURING-CRASH. Source: futex(2).
@safe
struct FutexWord {
  private let address: UnsafeMutablePointer<UInt32>

  @_noLocks
  init(_ address: UnsafeMutablePointer<UInt32>) {
    unsafe self.address = address
  }

  var value: UInt32 {
    @_noLocks get { unsafe pm_atomic_load(address) }
  }

  @_noLocks
  func store(_ value: UInt32) {
    unsafe pm_atomic_store(address, value)
  }

  /// Adds a number to the word; returns the sum.
  @_noLocks @discardableResult
  func add(_ value: UInt32) -> UInt32 {
    unsafe pm_atomic_add(address, value) &+ value
  }

  /// Stores `desired` if the word has the value `expected`; returns the previous value.
  @_noLocks
  func exchange(expected: UInt32, desired: UInt32) -> UInt32 {
    unsafe pm_atomic_compare_exchange(address, expected, desired)
  }

  /// Waits until another thread wakes the waiting threads or the time is over; returns immediately if the word
  /// differs from `expected`.
  ///
  /// The wait may end early (EINTR), so the caller must check the value again.
  ///
  /// - Parameter milliseconds: the maximum time; negative for no limit.
  @_noLocks
  func wait(while expected: UInt32, milliseconds: Int) {
    _ = unsafe pm_futex_wait(address, expected, Int64(truncatingIfNeeded: milliseconds))
  }

  @_noLocks
  func wakeAll() {
    _ = unsafe pm_futex_wake(address, Int32.max)
  }
}
