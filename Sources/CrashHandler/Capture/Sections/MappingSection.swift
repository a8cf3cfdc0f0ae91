internal import CSignalSafe
internal import IntermediateDump

/// Reads `/proc/self/maps` into the table; writes nothing yet.
///
/// RUNS-DURING-CRASH.
@c(pm_read_mappings) @_noLocks
func pm_read_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let descriptor = ProcReader(proc: capture.session.files.proc.descriptor).open(named: "self/maps")
  guard descriptor >= 0 else { return }
  capture.session.mappings.fill(from: descriptor)
  _ = pm_close(descriptor)
}

/// All mappings, as the kernel's text; the converter parses it.
///
/// RUNS-DURING-CRASH.
@c(pm_write_mappings) @_noLocks
func pm_write_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let mappings = capture.session.mappings
  capture.session.writer.startArray(.mappings)
  var offset = 0
  while offset < mappings.textCount {
    let rest = mappings.textCount &- offset
    let piece = rest < 65536 ? rest : 65536
    capture.session.writer.startMap(.mappingsChunk)
    capture.session.writer.property(
      .mappingsText, mappings.wholeText.bytes(offset, count: piece))
    capture.session.writer.end()
    offset &+= piece
  }
  capture.session.writer.end()
}
