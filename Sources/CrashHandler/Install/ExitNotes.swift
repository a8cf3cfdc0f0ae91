internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Makes sure that the process's own ways to end are noted: exit, `_exit`, and the signals that ask
/// it to end.
///
/// Ordinary code, run once in a process.
enum ExitNotes {
  /// Those that end a process by default and that people and supervisors send, and the one that ends
  /// `program | head`.
  private static let signals = [SIGTERM, SIGINT, SIGHUP, SIGPIPE]

  /// Begins, after the handler's state is in place.
  static func follow() {
    let handler:
      @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void =
        unsafe pm_handle_termination
    for signal in signals {
      var action = pm_signal_action()
      guard unsafe pm_sigaction(signal, nil, &action) == 0, action.handler == 0 else { continue }
      // Everything but faults waits until the default action has followed.
      _ = unsafe pm_install_handler(
        signal, handler, SA_SIGINFO | SA_ONSTACK | SA_RESTART, ~CrashSignals.faults)
    }
    pm_set_process_end(pm_note_process_end)
  }

  /// Has exit(3) note the end and remove the handler's files; also where nothing is to be said of
  /// the run's end.
  static func cleanUpAtExit() {
    _ = atexit {
      guard let address = unsafe pm_state() else { return }
      let state = unsafe address.assumingMemoryBound(to: HandlerState.self)
      // A child that made no files has the names of its parent's.
      guard unsafe OwnProcess(state).isCurrent,
        unsafe !state.pointee.isForkedChild || !state.pointee.needsFile
      else { return }
      unsafe EndingThread(state).waitForCapture()
      unsafe RunNoteFile(state).noteEnd(RunNotes.End.exit.rawValue)
      unsafe ExitNotes.removeFiles(state)
    }
    _ = at_quick_exit { pm_note_process_end() }
  }

  /// Removes the locked file and what lies beside it, unless a crash is being captured.
  ///
  /// A crash of a later exit handler makes a file of its own.
  private static func removeFiles(_ state: UnsafeMutablePointer<HandlerState>) {
    // A signal that is sent now must not find this thread as the one that captures.
    var (all, previous) = (UInt64.max, UInt64(0))
    _ = unsafe pm_sigprocmask(2, &all, &previous)  // SIG_SETMASK
    defer { _ = unsafe pm_sigprocmask(2, &previous, nil) }
    let thread = UInt32(bitPattern: pm_gettid())
    guard unsafe state.pointee.ending.value == 0,
      unsafe state.pointee.owner.exchange(expected: 0, desired: thread) == 0
    else { return }
    let folder = unsafe state.pointee.folderDescriptor
    // Without files of our own to make, the crash of a later handler would have no place.
    if unsafe state.pointee.makes(CallBit.files),
      unsafe state.pointee.folderIdentity.isOf(folder, linked: true)
    {
      unsafe state.pointee.needsFile = true
      _ = unsafe pm_unlink(folder, state.pointee.lockedName)
      _ = unsafe pm_unlink(folder, state.pointee.fifoName)
      _ = unsafe pm_unlink(folder, state.pointee.runRecordName)
    }
    unsafe state.pointee.owner.store(0)
    unsafe CrashEnd(state).wakeWaiting()
  }
}
