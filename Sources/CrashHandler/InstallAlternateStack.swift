internal import CSignalSafe

/// Gives the calling thread an alternate signal stack, so that the handler can capture an overflow of the thread's
/// stack.
///
/// This function also unblocks crash signals that the thread blocks, if `HandlerOptions.keepsCrashSignalsOpen` is on.
///
/// `startHandler` gives such stacks to existing threads, and to every thread that `pthread_create` creates later. Call
/// this function at the start of a thread that is created in another way (`clone`, `thrd_create`, SIGEV_THREAD,
/// `aio_read`), and in a thread that blocked all signals during `startHandler`. Call it in every thread if
/// `HandlerOptions.alternateStacksOnAllThreads` is off or the package was built without its trait Interposition. A call
/// before `startHandler` is allowed, and costs only memory. A thread that already has a large enough alternate stack
/// keeps that stack. A stack that this function creates is freed when the thread ends. Never call this function from a
/// signal handler.
///
/// - Returns: true if the thread has a large enough alternate stack now. False if the kernel refuses the stack, memory
///   limits leave no room for it, or the process has no free key for thread-specific data; the thread's alternate stack
///   is then unchanged.
///
/// Source: sigaltstack(2), pthread_key_create(3).
@discardableResult
public func installAlternateStack() -> Bool {
  OpenSignals.openHere()
  return ThreadStack.install() == 0
}
