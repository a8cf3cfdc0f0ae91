internal import IntermediateDump

/// Writes facts about the system, and the annotations that were passed to `startHandler`; both were encoded at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_system_and_annotations) @_noLocks
func pm_write_system_and_annotations(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.encoded(capture.installed.encoded.system)
}
