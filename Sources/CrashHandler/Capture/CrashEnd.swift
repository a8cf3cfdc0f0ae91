internal import CSignalSafe

/// How a crash goes on once the dump is taken: to the previous handler, or to the kernel's default.
///
/// RUNS-DURING-CRASH. Source: Crashpad `util/posix/signals.cc`.
@safe
struct CrashEnd {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// A fault of the handler itself: goes to the landing pad that is armed, the innermost first.
  @_noLocks
  func land(
    _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
  ) {
    let pads = unsafe state.pointee.landingPads
    if let context = unsafe context {
      var index = 1
      while index >= 0 {
        if unsafe pads[index].armed != 0 {
          unsafe pads[index].armed = 0
          unsafe pm_context_land(context, pads + index, signal)
          return
        }
        index &-= 1
      }
    }
    // A fault in the few lines between the sections. What was flushed is on disk; end as we would
    // have ended.
    unsafe passOn(signal, information)
  }

  /// Waits until the capturing thread is done, for ten seconds at most.
  @_noLocks
  func waitForOwner() {
    var rounds = 0
    while unsafe state.pointee.finished.value == 0, rounds < 100 {
      unsafe state.pointee.finished.wait(while: 0, milliseconds: 100)
      rounds &+= 1
    }
  }

  /// Lets the threads go if a previous handler will run, which may need them, or if the process may
  /// survive.
  ///
  /// Otherwise they stay parked until the process is dead: threads let go ran 26,974 turns of a
  /// loop before the kernel had ended them, and could have changed what the core file shows.
  @_noLocks
  func releaseThreadsIfNeeded(_ signal: Int32) {
    let previous = unsafe state.pointee.previousActions[Int(signal)].handler
    // For the first process of a PID namespace the kernel discards signals whose action is the
    // default.
    if unsafe previous > 1 || state.pointee.processID == 1 {
      unsafe ThreadStopper(state).releaseAll()
    }
  }

  /// Restores the previous actions and makes the signal happen again, with its own siginfo, when
  /// this handler returns.
  @_noLocks
  func passOn(_ signal: Int32, _ information: UnsafeMutableRawPointer?) {
    var number: Int32 = 1
    while number < 32 {
      if unsafe state.pointee.crashSignals &>> UInt64(truncatingIfNeeded: number &- 1) & 1 == 1 {
        _ = unsafe pm_sigaction(number, state.pointee.previousActions + Int(number), nil)
      }
      number &+= 1
    }
    var code: Int32 = 0
    if let information = unsafe information { code = unsafe pm_siginfo_code(information) }
    // Returning executes the faulting instruction again; the kernel then sees the fault itself, as
    // without us.
    if recurs(signal, code: code) { return }
    // Blocked first, so that it is delivered at the return from this handler, with the registers of
    // the crash.
    var mask: UInt64 = 1 &<< UInt64(truncatingIfNeeded: signal &- 1)
    _ = unsafe pm_sigprocmask(0, &mask, nil)  // SIG_BLOCK
    let process = pm_getpid()
    let thread = pm_gettid()
    if let information = unsafe information,
      unsafe pm_tgsigqueueinfo(process, thread, signal, information) == 0
    {
      return
    }
    // A kernel or a seccomp profile without rt_tgsigqueueinfo: the siginfo is lost, the signal is
    // not.
    if pm_tgkill(process, thread, signal) == 0 { return }
    _ = pm_exit_group(128 &+ signal)
  }

  /// True for faults that the same instruction raises again.
  ///
  /// A fault is known by its code: positive, and one the hardware sets. SI_KERNEL (0x80) is not
  /// among them: a breakpoint has it and does not recur. A memory error reported late
  /// (BUS_MCEERR_AO, 5) does not either.
  @_noLocks
  private func recurs(_ signal: Int32, code: Int32) -> Bool {
    switch signal {
    case 11: code >= 1 && code <= 4  // SEGV: MAPERR, ACCERR, BNDERR, PKUERR
    case 7: code >= 1 && code <= 4  // BUS: ADRALN, ADRERR, OBJERR, MCEERR_AR
    case 8, 4: code >= 1 && code <= 15  // FPE, ILL
    default: false
    }
  }
}
