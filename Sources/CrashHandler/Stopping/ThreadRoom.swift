internal import CSignalSafe

/// Decides whether another thread's stack has room for a signal frame.
///
/// Without room, the kernel ends the process with SIGSEGV, even if SIGSEGV has a handler. A thread with an alternate
/// stack that this package created has room. For any other thread, /proc shows the stack pointer while the thread is
/// in a system call. If the thread has an alternate stack, the kernel puts the frame there; the thread has recorded
/// the address of that stack (`pm_told_stack`).
///
/// RUNS-DURING-CRASH. Source: proc_pid_syscall(5); Linux arch/x86/kernel/signal.c, get_sigframe.
@safe
struct ThreadRoom {
  /// How many bytes the handler needs below the signal frame until it switches to an entry stack.
  private static var entrySize: UInt64 { 1024 }
  /// How many bytes the handler needs if no entry stack is free, or the thread has no alternate stack.
  private static var handlerSize: UInt64 { 6144 }
  /// The size of the x86-64 ABI's red zone, which the kernel leaves free below the stack pointer.
  private static var redZone: UInt64 { 128 }

  private let frameSize: UInt64

  @_noLocks
  init(frameSize: UInt64) {
    self.frameSize = frameSize
  }

  /// True if the thread is known to have room, because this package created its alternate stack.
  @_noLocks
  static func isSure(of threadID: Int32) -> Bool { pm_told_stack(threadID).is_handlers }

  /// True if the stack on which the kernel would put a signal frame is known, or can be assumed, to have room for it.
  ///
  /// False if the thread's stack pointer is unknown and the thread's alternate stack is small.
  ///
  /// - Parameters:
  ///   - call: the thread's stack pointer and instruction pointer, from /proc, while the thread is blocked; 0 if they are
  ///     unknown, as for a running thread.
  ///   - hasEntryStack: true if an entry stack is free for the thread.
  @inline(never) @_noLocks
  func suffices(on threadID: Int32, in call: SystemCallPlace, hasEntryStack: Bool) -> Bool {
    let told = pm_told_stack(threadID)
    let (base, size) = (told.base, told.size)
    let stackPointer = call.stackPointer
    guard size > 0 else {
      // A running thread without an alternate stack uses its normal stack, which is assumed to have room, as for any
      // other signal.
      return stackPointer == 0 || ThreadRoom.isMapped(below: stackPointer, handlerNeed)
    }
    guard stackPointer != 0 else {
      // The thread may be running a handler on its alternate stack, so only a large stack counts as having room.
      return size >= UInt64(PM_SMALL_STACK) && size >= frameSize &+ handlerNeed
        && ThreadRoom.isMapped(below: base &+ size, handlerNeed)
    }
    let isOnIt = stackPointer &- base < size
    let top = isOnIt ? stackPointer : base &+ size
    let need = hasEntryStack ? frameSize &+ ThreadRoom.redZone &+ ThreadRoom.entrySize : handlerNeed
    return top &- base >= need && ThreadRoom.isMapped(below: top, need)
  }

  private var handlerNeed: UInt64 { frameSize &+ ThreadRoom.redZone &+ ThreadRoom.handlerSize }

  /// True if the memory of the given size below an address can be read; one word in each page is checked.
  @_noLocks
  static func isMapped(below top: UInt64, _ size: UInt64) -> Bool {
    var distance: UInt64 = 8
    while distance < size {
      guard pm_is_readable(top &- distance) else { return false }
      distance &+= 4096
    }
    return pm_is_readable(top &- size)
  }
}
