internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The tasks of Swift concurrency that threads ran, found in the runtime's thread-local variable.
///
/// The handler finds them by the same rule (`TaskFinder` in CrashHandler): a word of the runtime's block that
/// points to memory which begins as every task does.
///
/// Source: swift stdlib/public/Concurrency/Task.cpp, class ActiveTask; glibc nptl_db/structs.def, the variables
/// `_thread_db_`, which tell debuggers where fields of glibc's own structures lie.
struct CoreTasks {
  private static let maximumTasks = 256
  private static let maximumBlockSize: UInt64 = 4096
  private static let names = [
    "_swift_concurrency_debug_asyncTaskMetadata",
    "_swift_concurrency_debug_internal_layout_version",
  ]
  private static let offsetName = "_thread_db_link_map_l_tls_offset"

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  /// In the order of the threads.
  var all: [TaskSnapshot] {
    let libraries = snapshot.modules.filter { $0.name.hasPrefix("libswift_Concurrency.so") }
    let program = snapshot.modules.filter { $0.source == .program }
    for module in libraries + program {
      let found = symbols.addresses(of: Self.names, in: module)
      guard let place = found[Self.names[0]], let metadata = snapshot.memory.word(at: place),
        metadata != 0, let block = block(of: module)
      else { continue }
      let version = found[Self.names[1]].flatMap { snapshot.memory.word(at: $0) }
      return tasks(
        in: block, metadata, layoutVersion: UInt32(truncatingIfNeeded: version ?? 0))
    }
    return []
  }

  private func tasks(
    in block: Block, _ metadata: UInt64, layoutVersion: UInt32
  ) -> [TaskSnapshot] {
    var tasks: [TaskSnapshot] = []
    for thread in snapshot.threads where tasks.count < Self.maximumTasks {
      guard let pointer = thread.threadPointer else { continue }
      let start = pointer &+ block.offset
      let found = stride(from: 0, to: block.size, by: 8).lazy
        .compactMap { snapshot.memory.word(at: start &+ $0) }
        .first { word in
          word >= 0x10000 && word & 15 == 0 && snapshot.memory.word(at: Address(word)) == metadata
        }
      guard let found else { continue }
      tasks.append(
        TaskSnapshot(
          threadID: thread.id, address: Address(found), layoutVersion: layoutVersion))
    }
    return tasks
  }

  /// The thread-local variables of a module: their offset from the thread pointer, and their bytes.
  private struct Block {
    let offset: UInt64
    let size: UInt64
  }

  private func block(of module: ModuleSnapshot) -> Block? {
    guard let segment = threadLocalSegment(of: module) else { return nil }
    let size = min(segment.size, Self.maximumBlockSize)
    // As the linker places the program's own block, which is the first.
    let programs =
      segment.size.clampedAdding(segment.alignment &- 1)
      & (0 &- segment.alignment)
    guard let distance = module.source == .program ? programs : linkersOffset(of: module) else {
      return nil
    }
    switch snapshot.architecture {
    case .x86_64: return Block(offset: 0 &- distance, size: size)
    // Behind the thread control block of 16 bytes.
    case .arm64:
      return Block(
        offset: module.source == .program ? max(16, segment.alignment) : distance, size: size)
    }
  }

  /// PT_TLS in the module's headers in memory.
  private func threadLocalSegment(of module: ModuleSnapshot) -> (size: UInt64, alignment: UInt64)? {
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

  /// `l_tls_offset` of the module's entry in the linker's list; nil for a block that is not at the same place
  /// in each thread.
  private func linkersOffset(of module: ModuleSnapshot) -> UInt64? {
    let memory = snapshot.memory
    let libraries = snapshot.modules.filter {
      $0.name.hasPrefix("libc.so") || $0.name.hasPrefix("libc-2")
        || $0.name.hasPrefix("libpthread")
    }
    for library in libraries {
      guard let place = symbols.addresses(of: [Self.offsetName], in: library)[Self.offsetName],
        // Bits, count, offset.
        let field = memory.bytes(at: place, count: 12)?.littleEndian(at: 8, width: 4),
        let entry = linkEntry(of: module),
        let value = memory.word(at: entry &+ field)
      else { continue }
      // 0 and the largest numbers: not there.
      return value > 0 && value < 1 << 32 ? value : nil
    }
    return nil
  }

  /// The address of the module's `struct link_map`.
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
