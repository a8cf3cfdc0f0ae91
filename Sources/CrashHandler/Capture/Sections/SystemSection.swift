internal import IntermediateDump

/// Writes the part of the dump that was encoded at launch: facts about the system, and the program's annotations.
///
/// RUNS-DURING-CRASH.
@c(pm_write_system_and_annotations) @_noLocks
func pm_write_system_and_annotations(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.encoded(capture.installed.encoded.system)
}
