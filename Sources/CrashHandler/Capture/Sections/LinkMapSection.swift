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
  let capture = unsafe Capture(argument)
  let address = capture.installed.linker.debugAddress
  let memory = capture.memory
  // r_version 0 (4), r_map 8, r_brk 16, r_state 24 (4), r_ldbase 32.
  guard address != 0, let version = memory.word(address), let first = memory.word(address &+ 8)
  else { return }
  capture.session.writer.startMap(.linkMap)
  capture.session.writer.unsigned(.linkVersion, version & 0xFFFF_FFFF, width: 4)
  capture.session.writer.unsigned(
    .linkState, (memory.word(address &+ 24) ?? 0) & 0xFFFF_FFFF, width: 4)
  capture.session.writer.unsigned(.linkBreakpoint, memory.word(address &+ 16) ?? 0)
  capture.session.writer.unsigned(.linkLoaderBase, memory.word(address &+ 32) ?? 0)
  capture.session.writer.unsigned(.linkDebugAddress, address)
  capture.session.writer.unsigned(.dynamicSection, capture.installed.linker.dynamicSection)
  writeDynamicSection(capture)
  capture.session.writer.startArray(.linkEntries)
  var entry = first
  var count = 0
  while entry != 0, count < 2048 {
    // l_addr 0, l_name 8, l_ld 16, l_next 24.
    guard let load = memory.word(entry), let next = memory.word(entry &+ 24) else { break }
    capture.session.writer.startMap(.linkEntry)
    capture.session.writer.unsigned(.linkAddress, load)
    capture.session.writer.unsigned(.linkDynamic, memory.word(entry &+ 16) ?? 0)
    TextWriter(capture).write(.linkName, at: memory.word(entry &+ 8) ?? 0, limit: 4096)
    capture.session.writer.end()
    entry = next
    count &+= 1
  }
  capture.session.writer.end()
  capture.session.writer.end()
}

@_noLocks
private func writeDynamicSection(_ capture: Capture) {
  let linker = capture.installed.linker
  guard linker.dynamicSection != 0, linker.dynamicSectionSize > 0 else { return }
  capture.session.writer.property(
    .dynamicData, of: capture.memory, at: linker.dynamicSection, count: linker.dynamicSectionSize)
}
