internal import CSignalSafe

/// The second half of a stop: waiting for those that were asked.
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension ThreadStopper {
  /// Waits for those that were asked; gives up once nobody has stopped for a while.
  @_noLocks
  func waitUntilStopped() {
    // 25 rounds of 10 ms without a thread that stops. A processor that is busy for longer than that
    // is rarer than a thread that never will (state D or T), for which every crash would wait this
    // long. libc lets signals through again within microseconds of work; on a busy machine a new
    // thread, whose signals it blocks until it runs, was seen to wait longer than 20 ms for that work.
    var rounds = 25
    var closedRounds = 250
    while true {
      let stopped = capture.shared.stops.stopped.value
      markWaiting()
      let asked = count(.signalled)
      let closed = Int(count(.closed))
      let awaitsClosed =
        closed > 0 && (closedRounds > 230 || closedRounds > 0 && hasRunnableClosed())
      if asked == 0 && !awaitsClosed || rounds == 0 { break }
      capture.shared.stops.target.store(stopped &+ asked)
      capture.shared.stops.stopped.wait(while: stopped, milliseconds: awaitsClosed ? 1 : 10)
      if capture.shared.stops.stopped.value != stopped {
        rounds = 25
      } else if awaitsClosed {
        // Where a filter refuses every signal, asking a thousand threads again takes long.
        closedRounds &-= 1 &+ closed / 8
        askClosed()
      } else {
        rounds &-= 1
        findGone()
      }
    }
    giveUp()
  }

  /// Threads that have a status and were to stop.
  @_noLocks
  private func count(_ status: ThreadRecord.Status) -> UInt32 {
    var result: UInt32 = 0
    var index = 0
    let count = capture.session.threads.count
    while index < count {
      if capture.session.threads[index].has(status) { result &+= 1 }
      index &+= 1
    }
    return result
  }

  /// True if a thread that libc keeps every signal from has or wants a processor.
  @_noLocks
  private func hasRunnableClosed() -> Bool {
    var index = 0
    let count = capture.session.threads.count
    while index < count {
      let record = capture.session.threads[index]
      if record.has(.closed), record.fields.stateLetter == 0x52,  // R
        SignalMask.has(record.fields.blockedSignals, 32)
      {
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Marks those that crashed too and wait: nothing else is needed of them.
  @_noLocks
  func markWaiting() {
    let waiting = capture.shared.waiting
    var index = 0
    let count = waiting.count
    while index < count {
      let threadID = waiting.threadID(at: index)
      if threadID != 0, let record = capture.session.threads.find(threadID),
        !record.has(.alsoCrashed), let crash = waiting.crash(of: threadID)
      {
        record.setCrash(crash)
      }
      index &+= 1
    }
  }

  /// Asks again those that could not be asked.
  @_noLocks
  private func askClosed() {
    var index = 0
    let count = capture.session.threads.count
    while index < count {
      let record = capture.session.threads[index]
      if record.has(.closed) { askToStop(record) }
      index &+= 1
    }
  }

  /// Finds those that have ended since they were asked.
  @_noLocks
  private func findGone() {
    var index = 0
    let count = capture.session.threads.count
    while index < count {
      let record = capture.session.threads[index]
      if record.has(.signalled), !stillExists(record) {
        record.setStatus(.gone, insteadOf: .signalled)
      }
      index &+= 1
    }
  }

  /// Waits no more for those that have not stopped, where new threads are found neither.
  @_noLocks
  private func giveUp() {
    var index = 0
    let count = capture.session.threads.count
    while index < count {
      let record = capture.session.threads[index]
      record.setStatus(.unresponsive, insteadOf: .signalled)
      record.setStatus(.running, insteadOf: .closed)
      index &+= 1
    }
  }

  @_noLocks
  private func stillExists(_ record: ThreadRecord) -> Bool {
    pm_tgkill(capture.shared.process.id, record.threadID, 0) != -Int(ESRCH)
  }
}
