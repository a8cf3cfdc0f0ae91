internal import CSignalSafe
internal import IntermediateDump

/// Writes the dynamic linker's own list of what is loaded, for readers that ask for it.
///
/// A list that is being changed may break off or repeat, so its length is bounded.
///
/// RUNS-DURING-CRASH. Source: glibc `<link.h>`, struct r_debug and struct link_map.
@_noLocks
func writeLinkMap(
  _ places: pm_image_places, memory: SafeMemory, text: MemoryWriter, to output: DumpOutput
) {
  let address = places.debug_address
  // r_version 0 (4), r_map 8, r_brk 16, r_state 24 (4), r_ldbase 32.
  guard address != 0, let version = memory.word(address), let first = memory.word(address &+ 8)
  else { return }
  output.startMap(.linkMap)
  output.unsigned(.linkVersion, version & 0xFFFF_FFFF, width: 4)
  output.unsigned(.linkState, (memory.word(address &+ 24) ?? 0) & 0xFFFF_FFFF, width: 4)
  output.unsigned(.linkBreakpoint, memory.word(address &+ 16) ?? 0)
  output.unsigned(.linkLoaderBase, memory.word(address &+ 32) ?? 0)
  output.unsigned(.linkDebugAddress, address)
  output.unsigned(.dynamicSection, places.dynamic_section)
  let size = places.dynamic_size < 4096 ? places.dynamic_size : 4096
  if size > 0 {
    output.property(
      .dynamicData, of: memory, at: places.dynamic_section, count: Int(truncatingIfNeeded: size))
  }
  output.startArray(.linkEntries)
  var entry = first
  var count = 0
  while entry != 0, count < 2048 {
    // l_addr 0, l_name 8, l_ld 16, l_next 24.
    guard let load = memory.word(entry), let next = memory.word(entry &+ 24) else { break }
    output.startMap(.linkEntry)
    output.unsigned(.linkAddress, load)
    output.unsigned(.linkDynamic, memory.word(entry &+ 16) ?? 0)
    text.writeText(.linkName, at: memory.word(entry &+ 8) ?? 0, limit: 4096)
    output.end()
    entry = next
    count &+= 1
  }
  output.end()
  output.end()
}
