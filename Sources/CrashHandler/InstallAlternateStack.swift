internal import CSignalSafe

/// Gives the calling thread an alternate signal stack, so that an overflow of its stack can be
/// captured, and opens the signals of crashes that it blocks (`HandlerOptions.keepsCrashSignalsOpen`).
///
/// `startHandler` does this for the threads that exist, and for every thread made later by `pthread_create`. Call it
/// at the start of a thread that is made otherwise (`clone`, `thrd_create`, SIGEV_THREAD, `aio_read`), of one that
/// blocked all signals during `startHandler`, or of any if `HandlerOptions.alternateStacksOnAllThreads` is off or the
/// package was built without its trait Interposition. Before `startHandler` it is allowed, and costs the memory. A
/// thread that has an alternate stack of sufficient size keeps it. Otherwise it is freed when the thread ends. Never
/// call it from a signal handler.
///
/// - Returns: true if the thread has an alternate stack now; false if the kernel refuses the memory or the process
///   has no key for thread-specific data left. The thread is then unchanged.
///
/// Source: sigaltstack(2), pthread_key_create(3).
@discardableResult
public func installAlternateStack() -> Bool {
  pm_adopt_mask()
  return ThreadStack.install() == 0
}
