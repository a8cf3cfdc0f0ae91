internal import CSignalSafe
internal import Glibc

/// The stack on which the calling thread handles signals, so that an overflow of its own stack can
/// be handled at all.
enum AlternateStack {
  /// Gives the calling thread an alternate stack unless it has one that is large enough.
  ///
  /// The handler leaves it at once for its own stack; what it has to hold is the kernel's signal
  /// frame, and whatever a previous handler needs. Never freed: it belongs to the thread for good.
  static func install() throws(CrashHandlerError) {
    // The signal frame with the vector state of this processor: 11 KiB with AMX.
    let frame = Int(pm_minimum_signal_stack_size())
    let size = max(64 << 10, frame * 4)
    var current = unsafe stack_t()
    if unsafe sigaltstack(nil, &current) == 0,
      unsafe current.ss_flags & Int32(SS_DISABLE) == 0,
      unsafe current.ss_size >= max(frame, 2048) + (16 << 10)
    {
      return
    }
    var memory = try HandlerMemory(capacity: size + 4096)
    var stack = unsafe stack_t()
    unsafe stack.ss_sp = try memory.stack(size)
    unsafe stack.ss_size = size
    guard unsafe sigaltstack(&stack, nil) == 0 else {
      throw CrashHandlerError(
        .notInstalled, "the kernel refuses an alternate signal stack", errorNumber: errno)
    }
    memory.keep()
  }
}
