internal import IntermediateDump

/// Reads `/proc/thread-self/maps` into the table of mappings.
///
/// RUNS-DURING-CRASH.
@c(pm_read_mappings) @_noLocks
func pm_read_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  // The table may contain mappings that were read earlier, and its buffer may since have been used for other lists. So
  // the table is emptied first.
  capture.session.mappings.removeAll()
  capture.session.mappings.read(
    with: capture.proc, near: capture.session.exception.signal.context?.stackPointer ?? 0)
  capture.session.counts.set(.mappings, isShown: capture.session.mappings.count > 0)
}

/// Writes all mappings as the kernel's text, which the converter parses.
///
/// RUNS-DURING-CRASH.
@c(pm_write_mappings) @_noLocks
func pm_write_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let mappings = capture.session.mappings
  capture.writer.startArray(.mappings)
  var offset = 0
  while offset < mappings.textCount {
    let rest = mappings.textCount &- offset
    let piece = rest < 65536 ? rest : 65536
    capture.writer.startMap(.mappingsChunk)
    capture.writer.property(.mappingsText, mappings.wholeText.bytes(offset, count: piece))
    capture.writer.end()
    offset &+= piece
  }
  capture.writer.end()
}
