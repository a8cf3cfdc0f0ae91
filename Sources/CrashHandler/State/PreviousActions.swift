internal import CSignalSafe

/// The actions that the crash signals had before this handler was installed, one for each signal number.
///
/// RUNS-DURING-CRASH.
@safe
struct PreviousActions {
  let actions: UnsafeMutablePointer<pm_signal_action>

  @_noLocks
  subscript(signal: Int32) -> pm_signal_action {
    @_noLocks get { unsafe actions[Int(signal)] }
    @_noLocks nonmutating set { unsafe actions[Int(signal)] = newValue }
  }

  /// Restores the action that a signal had; returns false if the kernel refuses.
  @_noLocks
  func restore(_ signal: Int32) -> Bool {
    unsafe pm_sigaction(signal, actions + Int(signal), nil) == 0
  }
}
