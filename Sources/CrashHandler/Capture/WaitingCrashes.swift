internal import CSignalSafe

/// Threads that crashed while another one was already capturing: who they are and where they
/// crashed.
///
/// A fixed table of 64 entries behind the state; a thread that finds it full is captured inside the
/// handler instead.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingCrashes {
  static var capacity: Int { @_noLocks get { 64 } }
  /// Bytes of the table: thread ID (8) and context (8) each.
  static var byteCount: Int { @_noLocks get { 64 &* 16 } }

  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Adds the calling thread.
  @_noLocks
  func add(_ threadID: Int32, context: UnsafeMutableRawPointer?) {
    let index = Int(truncatingIfNeeded: unsafe state.pointee.waitingCount.add(1)) &- 1
    guard index < WaitingCrashes.capacity else { return }
    let entry = unsafe state.pointee.waiting + index &* 16
    unsafe entry.storeBytes(
      of: UInt64(truncatingIfNeeded: UInt(bitPattern: context)), toByteOffset: 8, as: UInt64.self)
    // The thread ID last: an entry without one is not found.
    let word = unsafe FutexWord(entry.assumingMemoryBound(to: UInt32.self))
    word.store(UInt32(bitPattern: threadID))
  }

  /// Forgets all of them; those that still wait add themselves again.
  @_noLocks
  func removeAll() {
    var index = 0
    while index < WaitingCrashes.capacity {
      let entry = unsafe state.pointee.waiting + index &* 16
      unsafe FutexWord(entry.assumingMemoryBound(to: UInt32.self)).store(0)
      index &+= 1
    }
    unsafe state.pointee.waitingCount.store(0)
  }

  /// The context of a thread's own crash; nil if it is not waiting.
  @_noLocks
  func context(of threadID: Int32) -> UInt64? {
    var index = 0
    while index < WaitingCrashes.capacity {
      let entry = unsafe state.pointee.waiting + index &* 16
      let word = unsafe FutexWord(entry.assumingMemoryBound(to: UInt32.self))
      if word.value == UInt32(bitPattern: threadID) {
        return unsafe entry.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      }
      index &+= 1
    }
    return nil
  }
}
