internal import CSignalSafe

/// Writes the unwind tables of images whose files were removed or replaced, or never existed.
///
/// The tables are written for images that may have frames on the crashing thread's stack, but not for the vDSO.
///
/// Some code, for example in many builds of libc, has no frame pointers. The callers of such code can be found reliably
/// only with unwind tables. Without the image's file, these tables cannot be read after the crash. The ELF header is
/// written too, because readers find the tables through it.
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

  /// Writes the unwind tables of an image if they have at most `limit` bytes.
  ///
  /// - Returns: the size of the tables in bytes, without the ELF header and the program headers; 0 if no tables are
  ///   written.
  private func writeTables(of image: ModuleImage, _ memory: SafeMemory, limit: Int) -> Int {
    // Byte 0 of .eh_frame_hdr is the version, bytes 1 to 3 are encodings, and the pointer to .eh_frame follows. Linkers
    // usually encode the pointer as pcrel|sdata4; tables with another encoding are not written.
    var tables = image.segments(PT_GNU_EH_FRAME)
    guard let header = tables.next(),
      let segment = image.loaded(around: header.address),
      let first = memory.instruction(at: header.address, size: 4), first & 0xFFFF == 0x1B01,
      let offset = memory.instruction(at: header.address &+ 4, size: 4)
    else { return 0 }
    let place = header.address &+ 4
    let frames = place &+ UInt64(bitPattern: Int64(Int32(bitPattern: offset)))
    // The program headers do not contain the size of .eh_frame. If .eh_frame precedes .eh_frame_hdr, both are written;
    // otherwise, everything from .eh_frame_hdr to the end of the segment is written.
    let start = frames < header.address ? frames : header.address
    let end = frames < header.address ? header.address &+ header.fileSize : segment.end
    let size = Int(truncatingIfNeeded: end &- start)
    guard start >= image.start, size > 0, size <= limit else { return 0 }
    let headers = image.headersAddress &+ UInt64(truncatingIfNeeded: image.programHeaders.count)
    plainRegions.write(image.start, count: Int(truncatingIfNeeded: headers &- image.start))
    plainRegions.write(start, count: size)
    return size
  }
}
