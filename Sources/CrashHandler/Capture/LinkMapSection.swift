internal import CSignalSafe
internal import IntermediateDump

/// The dynamic linker's own list of what is loaded, for readers that ask for it.
///
/// Read without its lock, entry by entry through the fault-tolerant reader: a list that is being
/// changed may break off or repeat, so its length is bounded. Our modules do not come from here.
///
/// RUNS-DURING-CRASH. Source: glibc `<link.h>`, struct r_debug and struct link_map.
@c(pm_write_link_map) @_noLocks
func pm_write_link_map(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let address = unsafe state.pointee.linkDebugAddress
  let memory = unsafe state.pointee.memory
  // r_version 0 (4), r_map 8, r_brk 16, r_state 24 (4), r_ldbase 32.
  guard address != 0, let version = memory.word(address), let first = memory.word(address &+ 8)
  else { return }
  unsafe state.pointee.writer.startMap(.linkMap)
  unsafe state.pointee.writer.unsigned(.linkVersion, version & 0xFFFF_FFFF, width: 4)
  unsafe state.pointee.writer.unsigned(
    .linkState, (memory.word(address &+ 24) ?? 0) & 0xFFFF_FFFF, width: 4)
  unsafe state.pointee.writer.unsigned(.linkBreakpoint, memory.word(address &+ 16) ?? 0)
  unsafe state.pointee.writer.unsigned(.linkLoaderBase, memory.word(address &+ 32) ?? 0)
  unsafe state.pointee.writer.unsigned(.linkDebugAddress, address)
  unsafe state.pointee.writer.unsigned(.dynamicSection, state.pointee.dynamicSection)
  unsafe writeDynamicSection(state)
  unsafe state.pointee.writer.startArray(.linkEntries)
  var entry = first
  var count = 0
  while entry != 0, count < 2048 {
    // l_addr 0, l_name 8, l_ld 16, l_next 24.
    guard let load = memory.word(entry), let next = memory.word(entry &+ 24) else { break }
    unsafe state.pointee.writer.startMap(.linkEntry)
    unsafe state.pointee.writer.unsigned(.linkAddress, load)
    unsafe state.pointee.writer.unsigned(.linkDynamic, memory.word(entry &+ 16) ?? 0)
    unsafe TextWriter(state).write(.linkName, at: memory.word(entry &+ 8) ?? 0, limit: 4096)
    unsafe state.pointee.writer.end()
    entry = next
    count &+= 1
  }
  unsafe state.pointee.writer.end()
  unsafe state.pointee.writer.end()
}

@_noLocks
private func writeDynamicSection(_ state: UnsafeMutablePointer<HandlerState>) {
  let address = unsafe state.pointee.dynamicSection
  let size = unsafe state.pointee.dynamicSectionSize
  guard address != 0, size > 0,
    let place = unsafe state.pointee.writer.beginProperty(.dynamicData, capacity: size)
  else { return }
  let copied = unsafe state.pointee.memory.copy(address, to: place, count: size)
  if copied > 0 { unsafe state.pointee.writer.finishProperty(count: copied) }
}
