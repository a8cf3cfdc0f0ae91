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

  /// Adds the calling thread, if there is room.
  @_noLocks
  func add(_ threadID: Int32, context: UnsafeMutableRawPointer?) {
    var index = 0
    while index < WaitingCrashes.capacity {
      let word = word(index)
      // Taken with a number that is no thread's; the thread ID last, when the context is there.
      if word.exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).storeBytes(
          of: UInt64(truncatingIfNeeded: UInt(bitPattern: context)), toByteOffset: 8,
          as: UInt64.self)
        word.store(UInt32(bitPattern: threadID))
        return
      }
      index &+= 1
    }
  }

  /// Takes the calling thread out: it waits no more.
  @_noLocks
  func remove(_ threadID: Int32) {
    var index = 0
    while index < WaitingCrashes.capacity {
      if word(index).value == UInt32(bitPattern: threadID) { word(index).store(0) }
      index &+= 1
    }
  }

  /// True if no thread waits.
  var isEmpty: Bool {
    @_noLocks get {
      var index = 0
      while index < WaitingCrashes.capacity {
        if word(index).value != 0 { return false }
        index &+= 1
      }
      return true
    }
  }

  /// Takes all out, in a process whose threads are gone.
  @_noLocks
  func removeAll() {
    var index = 0
    while index < WaitingCrashes.capacity {
      word(index).store(0)
      index &+= 1
    }
  }

  @_noLocks
  private func entry(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe state.pointee.waiting + index &* 16
  }

  @_noLocks
  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord(entry(index).assumingMemoryBound(to: UInt32.self))
  }

  /// The context of a thread's own crash; nil if it is not waiting.
  @_noLocks
  func context(of threadID: Int32) -> UInt64? {
    var index = 0
    while index < WaitingCrashes.capacity {
      if word(index).value == UInt32(bitPattern: threadID) {
        return unsafe entry(index).loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      }
      index &+= 1
    }
    return nil
  }
}
