internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Thread-local variables of modules in the memory of a core file, if the variables have the same offset in each
/// thread.
///
/// The variables of the program, and of the libraries that it was started with, have the same offset in each thread.
/// Variables of libraries that are loaded later rarely do.
///
/// Source: Ulrich Drepper, "ELF Handling For Thread-Local Storage", 3; glibc nptl_db/structs.def.
///
/// The variables whose names begin with `_thread_db_` give debuggers the offsets of fields in glibc's structures, here
/// of the field `l_tls_offset` of `link_map`.
struct ThreadLocals {
  /// The place of a module's thread-local variables in each thread: the offset from the thread pointer, and the size in
  /// bytes.
  struct Block {
    let offset: UInt64
    let size: UInt64
  }

  private static let offsetName = "_thread_db_link_map_l_tls_offset"

  let snapshot: ProcessSnapshot
  let symbols: SymbolSource

  /// The thread-local variables of a module; nil if the module has none, or if their offset is not known.
  func block(of module: ModuleSnapshot) -> Block? {
    guard let segment = segment(of: module) else { return nil }
    let isProgram = module.source == .program
    switch snapshot.architecture {
    case .x86_64:
      // The TLS blocks are below the thread pointer, and the program's block is next to it.
      let own =
        segment.size.clampedAdding(segment.alignment &- 1) & (0 &- segment.alignment)
      guard let distance = isProgram ? own : linkersOffset(of: module) else { return nil }
      return Block(offset: 0 &- distance, size: segment.size)
    case .arm64:
      // The thread pointer points to the thread control block of 16 bytes. The TLS blocks follow, the program's block
      // first.
      guard let distance = isProgram ? max(16, segment.alignment) : linkersOffset(of: module)
      else { return nil }
      return Block(offset: distance, size: segment.size)
    }
  }

  /// The size and alignment of the module's PT_TLS segment, from the module's headers in memory.
  private func segment(of module: ModuleSnapshot) -> (size: UInt64, alignment: UInt64)? {
    let memory = snapshot.memory
    guard let offset = memory.word(at: module.address &+ 32),
      let counts = memory.word(at: module.address &+ 56)
    else { return nil }
    for index in 0..<min(counts & 0xFFFF, 128) {
      let entry = module.address &+ offset &+ index &* 56
      guard let type = memory.word(at: entry), type & 0xFFFF_FFFF == 7,
        let size = memory.word(at: entry &+ 40), let alignment = memory.word(at: entry &+ 48)
      else { continue }
      let isPower = alignment > 0 && alignment & (alignment &- 1) == 0 && alignment <= 1 << 20
      return (size, isPower ? alignment : 1)
    }
    return nil
  }

  /// `l_tls_offset` of the module's entry in the linker's list; nil if it is not known, or if the block does not have
  /// the same offset in each thread.
  private func linkersOffset(of module: ModuleSnapshot) -> UInt64? {
    let memory = snapshot.memory
    let libraries = snapshot.modules.filter { module in
      ["libc.so", "libc-2", "libpthread"].contains { module.name.hasPrefix($0) }
    }
    for library in libraries {
      guard let place = symbols.addresses(of: [Self.offsetName], in: library)[Self.offsetName],
        // The variable that describes a field consists of the field's number of bits, a count, and the field's
        // offset.
        let field = memory.bytes(at: place, count: 12)?.littleEndian(at: 8, width: 4),
        let entry = linkEntry(of: module), let value = memory.word(at: entry &+ field)
      else { continue }
      // The values 0, -1 and -2 mean that the module has no block with a fixed offset.
      return value > 0 && value < 1 << 32 ? value : nil
    }
    return nil
  }

  /// The address of the module's `struct link_map`, its entry in the dynamic linker's list; nil if there is none.
  private func linkEntry(of module: ModuleSnapshot) -> Address? {
    let memory = snapshot.memory
    guard let debug = snapshot.linkMap?.debugAddress else { return nil }
    var entry = memory.word(at: debug &+ 8).map { Address($0) }
    for _ in 0..<LinkMap.maximumEntries {
      guard let place = entry, place != 0, let section = memory.word(at: place &+ 16) else {
        return nil
      }
      if module.range.contains(Address(section)) { return place }
      entry = memory.word(at: place &+ 24).map { Address($0) }
    }
    return nil
  }
}
