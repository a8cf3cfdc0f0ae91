internal import CSignalSafe
internal import IntermediateDump

/// Reads `/proc/self/maps` into the table; writes nothing yet.
///
/// RUNS-DURING-CRASH.
@c(pm_read_mappings) @_noLocks
func pm_read_mappings(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let name: StaticString = "self/maps"
  let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
  let descriptor = unsafe ProcFile(proc: state.pointee.procDescriptor).open(path)
  guard descriptor >= 0 else { return }
  unsafe state.pointee.mappings.fill(from: descriptor)
  _ = pm_close(descriptor)
}

/// All mappings, as the kernel's text; the converter parses it.
///
/// RUNS-DURING-CRASH.
@c(pm_write_mappings) @_noLocks
func pm_write_mappings(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let mappings = unsafe state.pointee.mappings
  unsafe state.pointee.writer.startArray(.mappings)
  var offset = 0
  while offset < mappings.textCount {
    let rest = mappings.textCount &- offset
    let piece = rest < 65536 ? rest : 65536
    unsafe state.pointee.writer.startMap(.mappingsChunk)
    unsafe state.pointee.writer.property(.mappingsText, mappings.text + offset, count: piece)
    unsafe state.pointee.writer.end()
    offset &+= piece
  }
  unsafe state.pointee.writer.end()
}
