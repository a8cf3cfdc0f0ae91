internal import IntermediateDump
internal import ProcessSnapshot
internal import SwiftRuntime

/// The memory of a core file, for the search for tasks.
struct CoreMemory: SearchedMemory {
  /// The maximum number of bytes that are read at once.
  private static let partSize = 1 << 16

  let searched: [MemoryRegion]
  private let snapshot: ProcessSnapshot

  init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
    let stacks = snapshot.threads.compactMap(\.stackRange)
    let mappings = snapshot.mappings.filter { mapping in
      mapping.protection.contains([.read, .write]) && mapping.isPrivate && mapping.inode == 0
        && !mapping.path.hasPrefix("/")
        && !stacks.contains { $0.start == mapping.start }
    }
    searched = mappings.flatMap { snapshot.memory.regions(in: $0.range) }
      .sorted { ($0.count, $0.address) < ($1.count, $1.address) }
  }

  var readableBytes: UInt64 { searched.reduce(0) { $0.clampedAdding(UInt64($1.count)) } }

  func word(at address: UInt64) -> UInt64? { snapshot.memory.word(at: Address(address)) }

  func isCode(_ address: UInt64) -> Bool {
    snapshot.mapping(containing: Address(address))?.protection.contains(.execute) ?? false
  }

  func forEachPart(
    of region: MemoryRegion, while mayRead: () -> Bool,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) -> UInt64 {
    var unread = 0
    for start in stride(from: 0, to: region.count, by: Self.partSize) {
      guard mayRead() else { return UInt64(unread + region.count - start) }
      let end = min(start + Self.partSize, region.count)
      guard let part = region.contents.slice(start..<end) else {
        unread += end - start
        continue
      }
      unsafe part.withUnsafeBytes { unsafe body($0, region.address.value &+ UInt64(start)) }
    }
    return UInt64(unread)
  }

  /// The memory of a core file does not change.
  func forgetPages() {}
}
