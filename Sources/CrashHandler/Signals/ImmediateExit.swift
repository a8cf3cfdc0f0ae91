internal import IntermediateDump

/// Records in the run record that the process ends through `_exit`, `_Exit` or `quick_exit`, which call this function
/// before the process ends (see `pm_process_end.h`).
@c(pm_note_process_end) @_noLocks
func pm_note_process_end() {
  guard let capture = Capture.ofHandler else { return }
  capture.waitBeforeExit()
  capture.noteExitInHandler()
  capture.noteRunEnd(.immediateExit)
}
