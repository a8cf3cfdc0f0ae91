internal import CSignalSafe

/// Tells abort(), which goes on to end the process when the handler of its signal returns, from
/// raise(SIGABRT), which does not.
///
/// RUNS-DURING-CRASH. Source: glibc stdlib/abort.c, nptl/pthread_kill.c.
@safe
struct AbortCall {
  /// Words above the stack pointer among which raise() has its return address into abort(): behind
  /// the signal mask of 16 words that pthread_kill() keeps.
  private static var words: Int { 64 }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True only if it is certain: not where nobody tells where abort() lies.
  @_noLocks
  func isUnderWay(_ signal: DeliveredSignal) -> Bool {
    guard signal.number == SIGABRT, let information = signal.information,
      let context = signal.context
    else { return false }
    let (code, sender) = (information.code, information.sender)
    // Or SI_USER of nobody: with RLIMIT_SIGPENDING used up the kernel drops what tgkill said.
    // Source: Linux kernel/signal.c, collect_signal.
    guard
      code == SI_TKILL && sender == capture.shared.process.id || code == SI_USER && sender == 0
    else { return false }
    let start = capture.installed.runtime.abortStart
    let size = capture.installed.runtime.abortSize
    var address = context.stackPointer
    var index = 0
    while index < AbortCall.words {
      guard let word = capture.memory.word(address) else { return false }
      if word &- start < size { return true }
      address &+= 8
      index &+= 1
    }
    return false
  }
}
