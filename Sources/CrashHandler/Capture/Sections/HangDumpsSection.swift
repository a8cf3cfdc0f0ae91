/// Removes the dumps of hangs that a finished crash dump replaces.
///
/// This section runs when the dump is complete, so a fault here cannot damage the dump.
///
/// RUNS-DURING-CRASH.
@c(pm_remove_hang_dumps) @_noLocks
func pm_remove_hang_dumps(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.shared.hangDumps.removeAllFiles(in: capture.session.files.directory.descriptor)
}
