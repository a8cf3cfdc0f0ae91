internal import CSignalSafe

/// A function that may handle a crash signal before the signal counts as a crash; returns true if it has handled the
/// signal.
///
/// The arguments are the signal, its `siginfo_t` and its `ucontext_t`.
public typealias FirstChanceHandler =
  @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

/// Sets the function that is called first at each crash signal, before anything is captured.
///
/// Runtimes that use faults as control flow need such a function: for a JIT's null checks, WebAssembly guard pages,
/// or a garbage collector's write barriers. If the function returns true, the handler captures nothing, and the
/// program continues with the `ucontext_t`, which the function may have changed. If the function returns false, the
/// crash is captured as usual. The function may also leave through `siglongjmp`.
///
/// The function runs in a signal handler, on the alternate stack of the thread that got the signal, if the thread has
/// one. All signals are blocked, except faults and the signals that this package uses to stop threads and to limit its
/// time. The function may run on several threads at once. It may do only what signal-safety(7) allows: no allocation,
/// no lock, no Swift object. It must decide from the fault's address or instruction whether the fault belongs to its
/// own runtime, and return false for all other faults. The function is not called for a fault in code that runs on an
/// alternate stack, such as this function, or in a vfork(2) child.
///
/// `setFirstChanceHandler` may be called at any time, even before `startHandler`, and from any thread, but not from a
/// signal handler.
///
/// - Parameter handler: the function; nil to call no function.
///
/// Source: Crashpad `client/crashpad_client.h`, SetFirstChanceExceptionHandler.
public func setFirstChanceHandler(_ handler: FirstChanceHandler?) {
  unsafe pm_set_first_chance_handler(
    handler.map { unsafe unsafeBitCast($0, to: UnsafeMutableRawPointer.self) })
}
