internal import IntermediateDump
internal import ProcessSnapshot

extension LinkMap {
  /// Follows the dynamic linker's list in the memory of a core file, starting at the program's dynamic section.
  ///
  /// Source: glibc `<link.h>`, struct r_debug and struct link_map; gABI, dynamic section.
  ///
  /// - Returns: nil if the program has no dynamic section, which is usual for a static executable, or if the core file
  ///   does not have the list.
  init?(of program: CoreModule, in memory: MemorySnapshot) {
    guard let section = program.segment(ofType: 2), section.byteCount <= 1 << 16,
      let dynamic = memory.bytes(at: section.start, count: Int(section.byteCount))
    else { return nil }
    self.init()
    dynamicSection = section.start
    // The section ends with the entry DT_NULL, whatever size the program header states.
    let end = stride(from: 0, to: dynamic.count, by: 16).first {
      dynamic.littleEndian(at: $0, width: 8) == 0
    }
    dynamicData = Array(dynamic.prefix(min(end.map { $0 + 16 } ?? dynamic.count, 4096)))
    // DT_DEBUG.
    let debug = stride(from: 0, to: dynamic.count, by: 16).first {
      dynamic.littleEndian(at: $0, width: 8) == 21
    }
    // The offsets in bytes are: r_version 0 (4 bytes), r_map 8, r_brk 16, r_state 24 (4 bytes), r_ldbase 32.
    guard let debug, let value = dynamic.littleEndian(at: debug + 8, width: 8), value != 0,
      let version = memory.word(at: Address(value)),
      let first = memory.word(at: Address(value) &+ 8)
    else { return nil }
    let address = Address(value)
    debugAddress = address
    self.version = UInt32(truncatingIfNeeded: version)
    state = memory.word(at: address &+ 24).map { UInt32(truncatingIfNeeded: $0) }
    breakpoint = Address(memory.word(at: address &+ 16) ?? 0)
    loaderBase = Address(memory.word(at: address &+ 32) ?? 0)
    // The offsets in bytes are: l_addr 0, l_name 8, l_ld 16, l_next 24.
    var entry = Address(first)
    // A damaged list can lead back to an earlier entry; `seen` then ends the loop.
    var seen: Set<Address> = []
    while entry != 0, entries.count < Self.maximumEntries, seen.insert(entry).inserted,
      let load = memory.word(at: entry), let next = memory.word(at: entry &+ 24)
    {
      let name = memory.word(at: entry &+ 8).flatMap { memory.text(at: Address($0), limit: 4096) }
      entries.append(
        Entry(
          address: Address(load), dynamicSection: Address(memory.word(at: entry &+ 16) ?? 0),
          name: name ?? ""))
      entry = Address(next)
    }
  }
}
