internal import IntermediateDump

/// Notes the end of the process; `_exit` calls this before anything else (see `pm_process_end.h`).
@c(pm_note_process_end) @_noLocks
func pm_note_process_end() {
  guard let capture = Capture.ofHandler else { return }
  capture.waitForCapture()
  capture.noteExitInHandler()
  capture.noteRunEnd(.immediateExit)
}
