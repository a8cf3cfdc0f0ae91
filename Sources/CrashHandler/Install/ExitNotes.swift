internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Makes the process record in its run record how it ends: through `exit`, `quick_exit`, `_exit`, or a signal that asks
/// it to end.
///
/// Not crash code; runs once in a process.
enum ExitNotes {
  /// Starts noting how the process ends; called after the handler's state is set.
  static func follow(_ signals: CrashSignals) {
    let handler: pm_signal_handler = unsafe pm_handle_termination
    for signal in SignalTable.numbers(.endRequest) where signals.isDefault(signal) {
      // This handler blocks all signals except faults, so other signals wait until the default action has been taken.
      _ = unsafe pm_install_handler(
        signal, pm_termination_entry(handler), SA_SIGINFO | SA_ONSTACK | SA_RESTART,
        ~CrashSignals.faults)
    }
    pm_set_process_end(pm_note_process_end)
  }

  /// Makes exit(3) record the end of the run and remove the handler's files, and makes quick_exit(3) record the end of
  /// the run.
  ///
  /// The files are removed even if reports on how processes end are turned off.
  static func cleanUpAtExit() {
    _ = atexit {
      guard let capture = Capture.ofHandler else { return }
      // A forked child that created no files still has the names of its parent's files, and must not remove those
      // files.
      guard capture.shared.isOwnProcess,
        !capture.shared.process.isForkedChild || !capture.session.files.isMissing
      else { return }
      capture.waitBeforeExit()
      capture.noteExitInHandler()
      capture.noteRunEnd(.exit)
      ExitNotes.removeFiles(capture)
    }
    _ = at_quick_exit { pm_note_process_end() }
  }

  /// Removes the locked file, the FIFO and the run record.
  ///
  /// This function does nothing while a crash is being captured, if the crash handler may not create files, or if the
  /// directory of these files no longer exists.
  ///
  /// If an exit handler that runs later crashes, the crash handler creates new files.
  private static func removeFiles(_ capture: Capture) {
    // While this thread is marked as the capturing thread, it blocks all signals except SIGSYS, because the handler
    // would treat them as signals during a capture.
    let previous = SignalMask.exchange(~SignalMask.bit(SIGSYS))
    defer { SignalMask.set(previous) }
    guard capture.shared.ending.value == 0, capture.shared.beginTurn(pm_gettid()) == 0
    else { return }
    let directory = capture.session.files.directory.descriptor
    // If the crash handler may not create files, its locked file, FIFO and run record are kept, because a crash in a
    // later exit handler would otherwise have no file to write to.
    if capture.mayMake(CallBit.files), capture.isSame(capture.session.files.directory, linked: true)
    {
      capture.session.files.isMissing = true
      _ = unsafe pm_unlink(directory, capture.session.names.locked)
      _ = unsafe pm_unlink(directory, capture.session.names.fifo)
      _ = unsafe pm_unlink(directory, capture.session.names.runRecord)
    }
    capture.shared.endTurn()
  }
}

extension SignalMask {
  /// Replaces the mask; returns the previous mask, or 0 if the kernel refuses.
  fileprivate static func exchange(_ mask: UInt64) -> UInt64 {
    var (mask, previous) = (mask, UInt64(0))
    _ = unsafe pm_sigprocmask(SIG_SETMASK, &mask, &previous)
    return previous
  }
}
