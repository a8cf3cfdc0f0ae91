internal import IntermediateDump

/// Notes the end of the process in the run record.
///
/// `quick_exit` calls this function (see `ExitNotes`), and so does `_exit` if the program links the target
/// CProcessEnds (see `pm_process_end.h`).
@c(pm_note_process_end) @_noLocks
func pm_note_process_end() {
  guard let capture = Capture.ofHandler else { return }
  capture.waitForCapture()
  capture.noteExitInHandler()
  capture.noteRunEnd(.immediateExit)
}
