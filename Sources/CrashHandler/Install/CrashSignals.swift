internal import CSignalSafe
internal import Glibc
internal import PendingDumps

/// The signals that mean a crash, their previous actions, the stop signal and the watchdog's signal.
struct CrashSignals {
  /// The signals that mean a crash; bit n - 1 stands for signal n.
  let mask: UInt64
  /// The signal that stops threads: the highest unused real-time signal from 35 to 63; 0 if all are in use.
  let stopSignal: Int32
  /// The watchdog's signal: the next signal below `stopSignal`, down to 35, that has its default action; 0 if none has.
  let watchdogSignal: Int32
  /// The signals that are blocked in the thread that starts the handler; nil if `/proc` does not show them.
  var blocked: UInt64? { present?.blocked }
  /// The previous actions of the signals in `mask`, indexed by signal number.
  ///
  /// The table is not an `Array`, because the runtime would create the array's metadata when the handler starts.
  private let previous: InlineArray<32, pm_signal_action>
  private let present: SignalDispositions?
  private static var numbers: ClosedRange<Int32> { 1...31 }

  /// The signals that an instruction can raise.
  ///
  /// These signals stay unblocked while a dump is taken. If the signal of a fault is blocked, the kernel ends the
  /// process instead of letting the handler return to a recovery point.
  static var faults: UInt64 { HandledSignals.faults.rawValue }

  /// The signals that stay unblocked in a first-chance handler.
  ///
  /// These are the signals of faults, for the recovery points; the three signals that can stop threads, because
  /// another thread may be capturing; and the watchdog's signal.
  var open: UInt64 {
    Self.faults | SignalMask.bit(SIGPROF) | SignalMask.bit(SIGSETXID)
      | SignalMask.bit(stopSignal) | SignalMask.bit(watchdogSignal)
  }

  /// Chooses the crash signals, the stop signal and the watchdog's signal, without changing any signal's action.
  ///
  /// - Parameters:
  ///   - present: the signal dispositions of this process; nil if `/proc` does not show them.
  ///   - hasTerminal: false for a process without a controlling terminal.
  init(_ chosen: HandledSignals, present: SignalDispositions?, hasTerminal: Bool) {
    self.present = present
    var candidates = chosen.intersection(.all).rawValue
    // At a terminal, users send SIGQUIT by pressing a key, so the signal is not a crash there. Without a controlling
    // terminal, no key sends SIGQUIT.
    if hasTerminal, isatty(STDIN_FILENO) != 0 { candidates &= ~SignalMask.bit(SIGQUIT) }
    var previous = InlineArray<32, pm_signal_action>(repeating: pm_signal_action())
    var mask: UInt64 = 0
    for signal in Self.numbers where SignalMask.has(candidates, signal) {
      // An ignored signal stays ignored. A background job inherits an ignored SIGQUIT; with a handler, SIGQUIT would
      // end the job.
      guard let action = Self.action(of: signal, present), action.handler != 1 else { continue }
      previous[Int(signal)] = action
      mask |= SignalMask.bit(signal)
    }
    self.previous = previous
    self.mask = mask
    stopSignal = Self.freeRealTimeSignal(below: 64, present)
    watchdogSignal = stopSignal == 0 ? 0 : Self.freeRealTimeSignal(below: stopSignal, present)
  }

  /// The current action of a signal; nil if the kernel refuses the call.
  private static func action(
    of signal: Int32, _ present: SignalDispositions?
  ) -> pm_signal_action? {
    var action = pm_signal_action()
    guard let present, !SignalMask.has(present.caught, signal) else {
      guard let current = SignalAction.current(signal) else { return nil }
      action.handler = pm_handler_before_start(current.handler)
      return action.handler == current.handler ? current : action
    }
    if SignalMask.has(present.ignored, signal) { action.handler = 1 }
    return action
  }

  /// True if the signal does not count as a crash and has its default action.
  func isDefault(_ signal: Int32) -> Bool {
    !SignalMask.has(mask, signal) && Self.action(of: signal, present)?.handler == 0
  }

  /// Returns the highest real-time signal below `limit` whose action is the default; 0 if there is none.
  ///
  /// The search begins with the highest number, because programs usually take the lowest numbers, from SIGRTMIN (34)
  /// on.
  private static func freeRealTimeSignal(
    below limit: Int32, _ present: SignalDispositions?
  ) -> Int32 {
    for signal in stride(from: limit - 1, through: 35, by: -1) {
      if action(of: signal, present)?.handler == 0 { return signal }
    }
    return 0
  }

  /// The signals whose previous handler is Swift's backtracer, and the range of its code; all 0 if there is no such
  /// signal.
  var backtracer: Shared.Backtracer {
    var backtraced: UInt64 = 0
    var found = (code: UInt64(0), size: UInt64(0))
    for signal in Self.numbers where SignalMask.has(mask, signal) {
      var (code, size) = (UInt64(0), UInt64(0))
      guard unsafe pm_find_swift_backtracer(previous[Int(signal)].handler, &code, &size) != 0
      else { continue }
      backtraced |= SignalMask.bit(signal)
      found = (code, size)
    }
    return Shared.Backtracer(signals: backtraced, code: found.code, codeSize: found.size)
  }

  /// The signals whose previous handler is the program's own.
  var handledByProgram: UInt64 {
    let handled = Self.numbers.reduce(UInt64(0)) {
      previous[Int($1)].handler > 1 ? $0 | SignalMask.bit($1) : $0
    }
    return handled == 0 ? 0 : handled & ~backtracer.signals
  }

  /// Copies the previous actions to a table indexed by signal number.
  func copyActions(to table: UnsafeMutablePointer<pm_signal_action>) {
    for signal in Self.numbers where SignalMask.has(mask, signal) {
      unsafe table[Int(signal)] = previous[Int(signal)]
    }
  }

  /// Installs the stop handler, which blocks all signals except faults while a thread is stopped; returns its action.
  func stopAction() -> pm_signal_action {
    guard stopSignal != 0 else { return pm_signal_action() }
    let handler: pm_signal_handler = unsafe pm_handle_stop
    _ = unsafe pm_install_handler(
      stopSignal, pm_stop_entry(handler), SA_SIGINFO | SA_ONSTACK | SA_RESTART, ~Self.faults)
    pm_set_stop_signal(stopSignal)
    return SignalAction.current(stopSignal) ?? pm_signal_action()
  }

  private static var watchdogEntry: pm_signal_handler {
    let handler: pm_signal_handler = unsafe pm_handle_watchdog
    return unsafe pm_watchdog_entry(handler)
  }

  /// The watchdog's action, which differs from the stop handler's action only in its handler.
  func watchdogAction(_ stopAction: pm_signal_action) -> pm_signal_action {
    var action = stopAction
    action.handler = UInt64(
      UInt(bitPattern: unsafe unsafeBitCast(Self.watchdogEntry, to: UnsafeRawPointer.self)))
    return action
  }

  /// Installs the crash handler for all chosen signals.
  ///
  /// - Throws: `CrashHandlerError.notInstalled`, after all previous actions have been restored.
  func install() throws(CrashHandlerError) {
    unsafe pm_set_crash_handler(pm_crash_entry(pm_handle_crash))
    if watchdogSignal != 0 {
      _ = unsafe pm_install_handler(
        watchdogSignal, Self.watchdogEntry, SA_SIGINFO | SA_ONSTACK | SA_RESTART, ~Self.faults)
    }
    for signal in Self.numbers where SignalMask.has(mask, signal) {
      let result = Self.install(signal, insteadOf: previous[Int(signal)])
      guard result == 0 else {
        restore()
        throw CrashHandlerError(
          .notInstalled, "the kernel refuses a handler for signal \(signal)",
          errno: result)
      }
    }
  }

  /// Installs the handler of one signal; returns the error number if the kernel refuses.
  static func install(_ signal: Int32, insteadOf previous: pm_signal_action) -> Int32 {
    let handler: pm_signal_handler = unsafe pm_enter_crash
    // If the process continues, the program's previous action decides whether interrupted system calls are restarted.
    // If that action is the default action, the calls are restarted, because a signal that the kernel would have
    // discarded without this handler (for example in the first process of a PID namespace) must not interrupt them.
    let restarts =
      previous.handler == 0 ? SA_RESTART : Int32(truncatingIfNeeded: previous.flags) & SA_RESTART
    // SIGSYS needs another action: see `InstalledSignals.crashAction(of:)`.
    if signal == SIGSYS {
      return unsafe pm_install_handler(signal, handler, SA_SIGINFO | restarts, .max)
    }
    return unsafe pm_install_handler(
      signal, handler, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | restarts, ~faults)
  }

  /// The crash handler's action for all signals except SIGSYS, as the kernel stores it.
  ///
  /// - Parameter stopAction: the stop handler's action as read from the kernel, with the fields that libc sets in
  ///   every action.
  func installedAction(_ stopAction: pm_signal_action) -> pm_signal_action {
    var action = stopAction
    if stopSignal == 0 {
      action =
        Self.numbers.first { SignalMask.has(mask, $0) }.flatMap(SignalAction.current)
        ?? pm_signal_action()
    } else {
      let handler: pm_signal_handler = unsafe pm_enter_crash
      action.handler = UInt64(
        UInt(bitPattern: unsafe unsafeBitCast(handler, to: UnsafeRawPointer.self)))
    }
    action.flags |= UInt64(SA_RESTART | SA_ONSTACK) | UInt64(SA_NODEFER)
    action.mask = ~Self.faults
    return action
  }

  private func restore() {
    for signal in Self.numbers where SignalMask.has(mask, signal) {
      SignalAction.set(signal, previous[Int(signal)])
    }
    // These two signals had their default action; otherwise they would not have been chosen.
    for signal in [stopSignal, watchdogSignal] where signal != 0 {
      SignalAction.set(signal, pm_signal_action())
    }
  }
}
