internal import CSignalSafe
internal import IntermediateDump

extension SectionRow {
  static var removeHangDumps: SectionRow {
    @_noLocks get { unsafe SectionRow(.removeHangDumps, pm_remove_hang_dumps) }
  }
}

/// Removes the dumps of hangs that a finished crash dump replaces.
///
/// It runs after the dump, which a fault here cannot damage.
///
/// RUNS-DURING-CRASH.
@c(pm_remove_hang_dumps) @_noLocks
func pm_remove_hang_dumps(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.shared.hangDumps.removeAllFiles(in: capture.session.files.directory.descriptor)
}
