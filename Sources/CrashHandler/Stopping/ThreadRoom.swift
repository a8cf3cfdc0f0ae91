internal import CSignalSafe

/// Tells whether a signal's frame finds room on another thread.
///
/// If it does not, the kernel ends the process by SIGSEGV, whatever handlers there are. A thread with
/// an alternate stack of ours has room. For another thread, /proc has the stack pointer while it
/// is in a system call, and the thread itself has noted its alternate stack (`pm_told_stack`), on which the
/// frame comes unless the thread has none.
///
/// RUNS-DURING-CRASH. Source: proc_pid_syscall(5); Linux arch/x86/kernel/signal.c, get_sigframe.
@safe
struct ThreadRoom {
  /// Bytes that our handler takes below the frame, before it goes to an entry stack.
  private static var entrySize: UInt64 { 1024 }
  /// Bytes that it takes if there is none left for it, or the thread is on no alternate stack.
  private static var handlerSize: UInt64 { 6144 }
  /// The x86 ABI's red zone, which the kernel spares.
  private static var redZone: UInt64 { 128 }

  private let frameSize: UInt64

  @_noLocks
  init(frameSize: UInt64) {
    self.frameSize = frameSize
  }

  /// True without a look at the thread.
  @_noLocks
  static func isSure(of threadID: Int32) -> Bool { pm_told_stack(threadID).is_handlers }

  /// False if there is no room, or it is not known on a thread that has a small alternate stack.
  ///
  /// - Parameters:
  ///   - call: where the thread stands in a system call, if it does.
  ///   - hasEntryStack: whether one is left that the thread can take.
  @inline(never) @_noLocks
  func suffices(on threadID: Int32, in call: SystemCallPlace, hasEntryStack: Bool) -> Bool {
    let told = pm_told_stack(threadID)
    let (base, size) = (told.base, told.size)
    let stackPointer = call.stackPointer
    guard size > 0 else {
      // One that runs is on its own stack: as likely at its end as it is for any other signal.
      return stackPointer == 0 || isMapped(below: stackPointer, handlerNeed)
    }
    guard stackPointer != 0 else {
      // For a thread that may be running a handler on it.
      return size >= UInt64(PM_SMALL_STACK) && size >= frameSize &+ handlerNeed
        && isMapped(below: base &+ size, handlerNeed)
    }
    let isOnIt = stackPointer &- base < size
    let top = isOnIt ? stackPointer : base &+ size
    let need = hasEntryStack ? frameSize &+ ThreadRoom.redZone &+ ThreadRoom.entrySize : handlerNeed
    return top &- base >= need && isMapped(below: top, need)
  }

  private var handlerNeed: UInt64 { frameSize &+ ThreadRoom.redZone &+ ThreadRoom.handlerSize }

  private func isMapped(below top: UInt64, _ size: UInt64) -> Bool {
    var distance: UInt64 = 8
    while distance < size {
      guard pm_is_readable(top &- distance) else { return false }
      distance &+= 4096
    }
    return pm_is_readable(top &- size)
  }
}
