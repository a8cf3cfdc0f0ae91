internal import CSignalSafe

/// Waits for the threads that were sent a stop signal.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension ThreadStopper {
  /// Waits for the threads that were sent a stop signal; gives up when no further thread has stopped for at least 250
  /// ms.
  @_noLocks
  func waitUntilStopped() {
    // The wait ends after 25 rounds of 10 ms in which no thread stops. A runnable thread rarely waits longer than 250
    // ms for a processor. A longer limit would delay crashes more often than it would help. Threads in state D or T,
    // which never stop, are more frequent than such long waits, and every crash in a process with one of these threads
    // waits for the full time. Code in libc that blocks all signals runs only for microseconds. But libc also blocks
    // the signals of a new thread until that thread runs, and on a busy machine, a new thread has waited more than 20
    // ms for a processor.
    var rounds = 25
    var closedRounds = 250
    while true {
      let stopped = capture.shared.stops.stopped.value
      markWaiting()
      let waits = survey()
      let awaitsClosed =
        waits.closed > 0 && (closedRounds > 230 || closedRounds > 0 && waits.hasRunnableClosed)
      if waits.asked == 0 && !awaitsClosed || rounds == 0 { break }
      capture.shared.stops.target.store(stopped &+ waits.asked)
      capture.shared.stops.stopped.wait(while: stopped, milliseconds: awaitsClosed ? 1 : 10)
      if capture.shared.stops.stopped.value != stopped {
        rounds = 25
      } else if awaitsClosed {
        // Each round sends the signal again to every thread that did not get it. If a seccomp filter refuses every
        // signal, such a round takes a long time with a thousand threads. So more threads mean fewer rounds.
        closedRounds &-= 1 &+ waits.closed / 8
        lookAgain(asking: true)
      } else {
        rounds &-= 1
        lookAgain(asking: false)
      }
    }
    giveUp()
  }

  /// The numbers of threads for which the capturing thread waits.
  private struct Waits {
    /// The number of threads that were sent a stop signal and have not stopped.
    var asked: UInt32 = 0
    /// The number of threads to which no signal could be sent.
    var closed = 0
    /// True if a thread in which libc blocks every signal is running, or ready to run.
    var hasRunnableClosed = false
  }

  private func survey() -> Waits {
    var waits = Waits()
    for index in Indices(capture.session.threads.count) {
      let record = capture.session.threads[index]
      if record.has(.signalled) {
        waits.asked &+= 1
      } else if record.has(.closed) {
        waits.closed &+= 1
        if record.fields.stateLetter == 0x52,  // R
          SignalMask.has(record.fields.blockedSignals, 32)
        {
          waits.hasRunnableClosed = true
        }
      }
    }
    return waits
  }

  /// Marks threads that need no stop signal, because they also crashed and now wait.
  @_noLocks
  func markWaiting() {
    let waiting = capture.shared.waiting
    for index in Indices(waiting.count) {
      let threadID = waiting.threadID(at: index)
      if threadID != 0, let record = capture.session.threads.find(threadID),
        !record.has(.alsoCrashed), let crash = waiting.value(of: threadID)
      {
        if record.has(.signalled) { capture.shared.stops.isPending = true }
        record.setCrash(crash)
      }
    }
  }

  /// If `asking` is true, tries again to signal threads to which no signal could be sent; otherwise marks threads
  /// that have ended meanwhile.
  private func lookAgain(asking: Bool) {
    for index in Indices(capture.session.threads.count) {
      let record = capture.session.threads[index]
      if asking {
        if record.has(.closed) { askToStop(record) }
      } else if record.has(.signalled), !stillExists(record) {
        record.setStatus(.gone, insteadOf: .signalled)
      }
    }
  }

  /// Gives up on threads that have not stopped, and sets their final status.
  private func giveUp() {
    for index in Indices(capture.session.threads.count) {
      let record = capture.session.threads[index]
      if record.has(.signalled) { capture.shared.stops.isPending = true }
      record.setStatus(.unresponsive, insteadOf: .signalled)
      record.setStatus(.running, insteadOf: .closed)
    }
  }

  private func stillExists(_ record: ThreadRecord) -> Bool {
    pm_tgkill(capture.shared.process.id, record.threadID, 0) != -Int(ESRCH)
  }
}
