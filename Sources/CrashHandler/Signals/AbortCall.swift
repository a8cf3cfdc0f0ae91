internal import CSignalSafe

/// Tells abort(), which goes on to end the process when the handler of its signal returns, from
/// raise(SIGABRT), which does not.
///
/// RUNS-DURING-CRASH, on any thread. Source: glibc stdlib/abort.c, nptl/pthread_kill.c.
extension Capture {
  /// True only if it is certain: false if the address of abort() is unknown.
  @_noLocks
  func isAborting(_ signal: DeliveredSignal) -> Bool {
    guard isAbortSignal(signal), let context = signal.context else { return false }
    let start = installed.runtime.abortStart
    let size = installed.runtime.abortSize
    var address = context.stackPointer
    // Among 64 words raise() has its return address into abort(): after the signal mask of 16 words
    // that pthread_kill() keeps.
    let end = address &+ 64 &* 8
    while address < end {
      // Page by page: the stack may end before.
      if address == context.stackPointer || address & 4095 < 8, !pm_is_readable(address) {
        return false
      }
      if pm_load_word(address) &- start < size { return true }
      address &+= 8
    }
    return false
  }

  /// False only if it is certain.
  @_noLocks
  func mayBeAborting(_ signal: DeliveredSignal) -> Bool {
    installed.runtime.abortSize == 0 ? isAbortSignal(signal) : isAborting(signal)
  }

  private func isAbortSignal(_ signal: DeliveredSignal) -> Bool {
    guard signal.number == SIGABRT, let information = signal.information else { return false }
    let (code, sender) = (information.code, information.sender)
    // Or SI_USER without a sender: if RLIMIT_SIGPENDING is used up, the kernel drops the siginfo of tgkill.
    // Source: Linux kernel/signal.c, collect_signal.
    return code == SI_TKILL && sender == shared.process.id || code == SI_USER && sender == 0
  }
}
