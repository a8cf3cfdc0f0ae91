internal import CSignalSafe

/// A function that may handle a fault so that it is not a crash; returns true if it did.
///
/// The arguments are the signal, its `siginfo_t` and its `ucontext_t`.
public typealias FirstChanceHandler =
  @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

/// Sets the function that is called first at each crash signal, before anything is captured.
///
/// It is for runtimes that use faults as control flow: a JIT's null checks, guard pages of WebAssembly, a collector's
/// write barriers. If it returns true, nothing is written, no thread is stopped, and the program continues at the
/// context it was given, which the function may have changed. If it returns false, the crash is captured as without
/// this function. It may also leave by `siglongjmp`.
///
/// It runs in a signal handler, on the thread of the fault and on its alternate stack, with all signals except faults
/// blocked, on several threads at once. It may only do what signal-safety(7) allows: no allocation, no lock, no Swift
/// object. It must decide by the fault's address or instruction whether the fault is its own, and return false for
/// other faults. It is not called for faults of code on an alternate stack, such as its own, nor in children of
/// vfork(2).
///
/// Call this function at any time, also before `startHandler`, from any thread, but not from a signal handler.
///
/// - Parameter handler: the function; nil for none.
///
/// Source: Crashpad `client/crashpad_client.h`, SetFirstChanceExceptionHandler.
public func setFirstChanceHandler(_ handler: FirstChanceHandler?) {
  unsafe pm_set_first_chance_handler(
    handler.map { unsafe unsafeBitCast($0, to: UnsafeMutableRawPointer.self) })
}
