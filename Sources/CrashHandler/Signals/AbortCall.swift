internal import CSignalSafe

/// Tells abort(), which goes on to end the process when the handler of its signal returns, from
/// raise(SIGABRT), which does not.
///
/// RUNS-DURING-CRASH, on any thread. Source: glibc stdlib/abort.c, nptl/pthread_kill.c.
@safe
struct AbortCall {
  /// Words above the stack pointer among which raise() has its return address into abort(): behind
  /// the signal mask of 16 words that pthread_kill() keeps.
  private static var words: UInt64 { 64 }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True only if it is certain: not where nobody tells where abort() lies.
  @_noLocks
  func isUnderWay(_ signal: DeliveredSignal) -> Bool {
    guard isOfThisProcess(signal), let context = signal.context else { return false }
    let start = capture.installed.runtime.abortStart
    let size = capture.installed.runtime.abortSize
    var address = context.stackPointer
    let end = address &+ AbortCall.words &* 8
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
  func mayBeUnderWay(_ signal: DeliveredSignal) -> Bool {
    capture.installed.runtime.abortSize == 0 ? isOfThisProcess(signal) : isUnderWay(signal)
  }

  private func isOfThisProcess(_ signal: DeliveredSignal) -> Bool {
    guard signal.number == SIGABRT, let information = signal.information else { return false }
    let (code, sender) = (information.code, information.sender)
    // Or SI_USER of nobody: with RLIMIT_SIGPENDING used up the kernel drops what tgkill said.
    // Source: Linux kernel/signal.c, collect_signal.
    return code == SI_TKILL && sender == capture.shared.process.id || code == SI_USER && sender == 0
  }
}
