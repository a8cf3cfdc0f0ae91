internal import CSignalSafe

/// Writes the unwind tables of images whose files were removed or replaced, or never existed.
///
/// The tables are written for images that may have frames on the crashing thread's stack, but not for the vDSO.
///
/// Some code, for example in many builds of libc, has no frame pointers. The callers of such code can be found reliably
/// only with unwind tables. If the image's file is gone, these tables cannot be read after the crash. Nothing else of the image
/// is written (`UnwindTables`), because the tables are written even if the dump leaves out secrets.
///
/// RUNS-DURING-CRASH. Source: Linux Standard Base Core, 10.6.2 (Exception Frame Header).
extension Capture {
  /// Writes the tables as memory regions into the dump's array that is currently open.
  @_noLocks
  func writeLostTables(_ context: SignalContext) {
    let (images, memory) = (images, cachedMemory)
    // The maximum number of bytes of all tables together. libc's tables have about 150 KiB, and libswiftCore's tables
    // have about 700 KiB.
    var left = 2 << 20
    for index in Indices(images.images.count) {
      let entry = images.images[index]
      if entry.isLost, isOnStack(entry, context, memory), let image = images.image(at: index) {
        left &-= writeTables(of: image, memory, limit: left)
      }
    }
  }

  private func isOnStack(_ image: Image, _ context: SignalContext, _ memory: SafeMemory) -> Bool {
    let size = image.end &- image.start
    if context.instructionPointer &- image.start < size { return true }
    #if arch(arm64)
      if context.linkRegister &- image.start < size { return true }
    #endif
    // After a stack overflow, the stack pointer is in the guard region, so the search starts at the end of that region.
    guard var place = memory.firstReadable(from: (context.stackPointer &+ 7) & ~7) else {
      return false
    }
    // The search covers 64 KiB of the stack, which is enough for 64 frames of 1 KiB each.
    let end = place &+ 65536
    while place < end, let word = memory.word(place) {
      if word &- image.start < size { return true }
      place &+= 8
    }
    return false
  }

  /// Writes the unwind tables of an image, of `.eh_frame` at most the entries that fit into `limit` bytes.
  ///
  /// - Returns: the size of the tables in bytes; 0 if no tables are written.
  private func writeTables(of image: ModuleImage, _ memory: SafeMemory, limit: Int) -> Int {
    guard let tables = UnwindTables(of: image, in: memory), tables.header.count <= limit else {
      return 0
    }
    let entries = tables.entries(limit: limit &- tables.header.count)
    guard entries.count > 0 else { return 0 }
    plainRegions.write(tables.header.start, count: tables.header.count)
    plainRegions.write(entries.start, count: entries.count)
    return tables.header.count &+ entries.count
  }
}
