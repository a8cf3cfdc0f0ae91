internal import CSignalSafe
internal import IntermediateDump

/// Writes the dynamic linker's own list of loaded files, for tools that read this list.
///
/// The list may be incomplete or circular if a thread was changing it, so the number of entries is limited.
///
/// RUNS-DURING-CRASH. Source: glibc `<link.h>`, struct r_debug and struct link_map.
@c(pm_write_link_map) @_noLocks
func pm_write_link_map(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let places = capture.installed.images.known
  let (memory, text) = (capture.cachedMemory, capture.cachedRegions)
  let address = places.debug_address
  // Offsets in struct r_debug: r_version 0 (4 bytes), r_map 8, r_brk 16, r_state 24 (4), r_ldbase 32.
  guard address != 0, let version = memory.word(address), let first = memory.word(address &+ 8)
  else { return }
  capture.writer.startMap(.linkMap)
  capture.writer.unsigned(.linkVersion, version & 0xFFFF_FFFF, width: 4)
  capture.writer.unsigned(.linkState, (memory.word(address &+ 24) ?? 0) & 0xFFFF_FFFF, width: 4)
  capture.writer.unsigned(.linkBreakpoint, memory.word(address &+ 16) ?? 0)
  capture.writer.unsigned(.linkLoaderBase, memory.word(address &+ 32) ?? 0)
  capture.writer.unsigned(.linkDebugAddress, address)
  capture.writer.unsigned(.dynamicSection, places.dynamic_section)
  let size = places.dynamic_size < 4096 ? places.dynamic_size : 4096
  if size > 0 {
    capture.write(
      .dynamicData, of: memory, at: places.dynamic_section, count: Int(truncatingIfNeeded: size))
  }
  capture.writer.startArray(.linkEntries)
  var entry = first
  var count = 0
  while entry != 0, count < 2048 {
    // Offsets in struct link_map: l_addr 0, l_name 8, l_ld 16, l_next 24.
    guard let load = memory.word(entry), let next = memory.word(entry &+ 24) else { break }
    capture.writer.startMap(.linkEntry)
    capture.writer.unsigned(.linkAddress, load)
    capture.writer.unsigned(.linkDynamic, memory.word(entry &+ 16) ?? 0)
    text.writeText(.linkName, at: memory.word(entry &+ 8) ?? 0, limit: 4096)
    capture.writer.end()
    entry = next
    count &+= 1
  }
  capture.writer.end()
  capture.writer.end()
}
