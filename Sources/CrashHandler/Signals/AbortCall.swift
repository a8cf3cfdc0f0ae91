internal import CSignalSafe

/// Distinguishes abort() from raise(SIGABRT), because only abort() ends the process even if the signal's handler
/// returns.
///
/// RUNS-DURING-CRASH, on any thread. Source: glibc stdlib/abort.c, nptl/pthread_kill.c.
extension Capture {
  /// True if a return address into abort() on the stack shows that abort() raised the signal.
  @_noLocks
  func isAborting(_ signal: DeliveredSignal) -> Bool {
    guard isAbortSignal(signal), let context = signal.context else { return false }
    let start = installed.runtime.abortStart
    let size = installed.runtime.abortSize
    var address = context.stackPointer
    // Searches 64 words of the stack for a return address into abort(). A few words are not enough: in older versions
    // of glibc, the 16 words in which pthread_kill() saves the signal mask are below the return address.
    let end = address &+ 64 &* 8
    while address < end {
      // Each page is checked, because the stack may end within the 64 words.
      if address == context.stackPointer || address & 4095 < 8, !pm_is_readable(address) {
        return false
      }
      if CodeAddress.of(pm_load_word(address)) &- start < size { return true }
      address &+= 8
    }
    return false
  }

  /// True if abort() raised the signal; if the address of abort() is unknown, true for each SIGABRT that abort() may
  /// have raised.
  @_noLocks
  func mayBeAborting(_ signal: DeliveredSignal) -> Bool {
    installed.runtime.abortSize == 0 ? isAbortSignal(signal) : isAborting(signal)
  }

  private func isAbortSignal(_ signal: DeliveredSignal) -> Bool {
    guard signal.number == SIGABRT, let information = signal.information else { return false }
    let (code, sender) = (information.code, information.sender)
    // If RLIMIT_SIGPENDING is used up, the kernel drops the siginfo of tgkill; the signal then has SI_USER and no
    // sender. Source: Linux kernel/signal.c, collect_signal.
    return code == SI_TKILL && sender == shared.process.id || code == SI_USER && sender == 0
  }
}
