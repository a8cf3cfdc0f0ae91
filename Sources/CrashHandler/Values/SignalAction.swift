internal import CSignalSafe

/// Reads and changes the action of a signal.
///
/// These functions are not in an extension of `pm_signal_action`, because the call-graph audit recognizes the
/// handler's functions by symbols that begin with the module's name, and the symbols of an extension of a C struct
/// begin differently.
///
/// RUNS-DURING-CRASH. Source: sigaction(2).
enum SignalAction {
  /// A signal's current action; nil if the kernel refuses the call.
  @_noLocks
  static func current(_ signal: Int32) -> pm_signal_action? {
    var action = pm_signal_action()
    return unsafe pm_sigaction(signal, nil, &action) == 0 ? action : nil
  }

  /// Sets a signal's action; returns false if the kernel refuses.
  @_noLocks @discardableResult
  static func set(_ signal: Int32, _ action: pm_signal_action) -> Bool {
    var action = action
    return unsafe pm_sigaction(signal, &action, nil) == 0
  }
}
