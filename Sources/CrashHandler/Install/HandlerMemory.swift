internal import CSignalSafe
internal import Glibc

/// One block of anonymous memory for everything that the handler needs in a crash, or that a `LiveDump` needs.
///
/// Most of the block is touched only in a crash, so until then it takes address space but no memory. If the process's
/// memory cgroup has a limit, 300 KiB are touched at launch, so that they can be used even if the cgroup has no memory
/// left in a crash. The block is excluded from core files, because it contains none of the program's data. The
/// handler's block is never freed after the handler has been installed; a `LiveDump` frees its block. A block lies
/// between two inaccessible zones, because the kernel may place the block directly below a thread's stack. Without the
/// zones, an overflow of that stack with frames larger than its guard would overwrite the block.
@safe
struct HandlerMemory: ~Copyable {
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  let pageSize: Int
  /// The alternate stack for the thread that starts the handler, in the last `AlternateStack.mappingSize` bytes of
  /// the block.
  ///
  /// The stack is part of the block, so that only one mapping must be created.
  let threadStack: UInt?
  private var ownsThreadStack: Bool
  private var used = 0
  private let holdsPages: Bool
  /// The unused rest of the page from which small pieces are taken.
  ///
  /// If each piece had its own page, starting the handler would touch more pages.
  private var small: UnsafeMutableRawPointer?
  private var smallLeft = 0
  /// Large pieces begin at multiples of this number of bytes even if pages are larger, because aligning to 64 KiB
  /// pages would waste memory.
  private static let alignment = 4096
  private static let guardSize = 1 << 20

  /// Maps `capacity` bytes.
  ///
  /// - Parameters:
  ///   - holdsPages: true to let `hold` allocate pages in advance; if false, `hold` does nothing.
  ///   - hasThreadStack: true to reserve `threadStack`, the alternate stack of the thread that starts the handler.
  ///   - pageSize: the page size of the system, or a multiple; 4, 16 or 64 KiB on arm64.
  init(
    capacity: Int, holdsPages: Bool = false, hasThreadStack: Bool = false,
    pageSize: Int = max(sysconf(Int32(_SC_PAGESIZE)), 4096)
  ) throws(CrashHandlerError) {
    self.holdsPages = holdsPages
    let size = (capacity + pageSize - 1) & ~(pageSize - 1) + 2 * Self.guardSize
    let wholeSize = size + (hasThreadStack ? AlternateStack.mappingSize : 0)
    guard let mapping = unsafe pm_map_unlocked(wholeSize) else {
      throw CrashHandlerError(
        .notInstalled, "cannot map \(capacity) bytes of memory", errno: errno)
    }
    let memory = unsafe mapping + Self.guardSize
    guard unsafe mprotect(memory, capacity, PROT_READ | PROT_WRITE) == 0 else {
      let reason = errno
      _ = unsafe munmap(mapping, wholeSize)
      throw CrashHandlerError(
        .notInstalled, "cannot use \(capacity) bytes of memory", errno: reason)
    }
    unsafe base = memory
    threadStack = hasThreadStack ? UInt(bitPattern: mapping) + UInt(size) : nil
    ownsThreadStack = hasThreadStack
    self.capacity = capacity
    self.pageSize = pageSize
    // With huge pages, the first access in a crash would make the kernel clear 2 MiB.
    _ = unsafe madvise(memory, capacity, MADV_NOHUGEPAGE)
    _ = unsafe madvise(memory, capacity, Int32(MADV_DONTDUMP))
  }

  /// Reserves a piece that begins at a multiple of 4 KiB.
  mutating func pages(_ count: Int) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    unsafe try piece(count, alignment: Self.alignment)
  }

  /// Makes the kernel allocate the pages of a range in advance, because every crash needs them.
  ///
  /// Before Linux 5.14, this function has no effect.
  ///
  /// Source: madvise(2), MADV_POPULATE_WRITE.
  func hold(_ place: UnsafeMutableRawPointer, _ count: Int) {
    guard holdsPages else { return }
    let populateWrite: Int32 = 23
    let start = UInt(bitPattern: place) & ~UInt(pageSize - 1)
    let end = UInt(bitPattern: place) + UInt(count)
    _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), populateWrite)
  }

  /// Reserves whole pages, so that their protection can be changed without affecting other memory.
  private mutating func wholePages(
    _ count: Int
  ) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    unsafe try piece(count, alignment: pageSize)
  }

  private mutating func piece(
    _ count: Int, alignment: Int
  ) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    let address = unsafe UInt(bitPattern: base) + UInt(used)
    let gap = Int((0 &- address) % UInt(alignment))
    let size = (count + alignment - 1) / alignment * alignment
    guard capacity - used - gap >= size else {
      throw CrashHandlerError(.notInstalled, "the handler's memory is too small; this is a bug")
    }
    defer { used += gap + size }
    return unsafe base + used + gap
  }

  /// Reserves a piece that shares its pages with other pieces, at a multiple of the size of a cache line.
  mutating func piece(_ count: Int) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    let size = (max(count, 1) + 63) / 64 * 64
    if smallLeft < size {
      smallLeft = (size + Self.alignment - 1) / Self.alignment * Self.alignment
      unsafe small = try pages(smallLeft)
    }
    guard let place = unsafe small else {
      throw CrashHandlerError(.notInstalled, "the handler's memory is too small; this is a bug")
    }
    unsafe small = place + size
    smallLeft -= size
    return unsafe place
  }

  /// Copies bytes into the block, and returns the address of the copy.
  mutating func bytes(_ bytes: [UInt8]) throws(CrashHandlerError) -> UnsafeRawPointer {
    let place = unsafe try piece(bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      if let base = source.baseAddress {
        unsafe place.copyMemory(from: base, byteCount: source.count)
      }
    }
    return UnsafeRawPointer(place)
  }

  /// Copies a text into the block, with a NUL at the end.
  mutating func text(_ text: String) throws(CrashHandlerError) -> UnsafePointer<CChar> {
    unsafe try bytes(Array(text.utf8) + [0]).assumingMemoryBound(to: CChar.self)
  }

  /// Reserves a stack, with an inaccessible page below it as a guard.
  mutating func stack(_ count: Int) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    // A stack at the start of the block needs no guard page, because the zone below the block is inaccessible.
    if used == 0 { return unsafe try wholePages(count) }
    let guardPage = unsafe try wholePages(pageSize)
    guard unsafe mprotect(guardPage, pageSize, PROT_NONE) == 0 else {
      throw CrashHandlerError(
        .notInstalled, "cannot create a guard page below a stack", errno: errno)
    }
    return unsafe try pages(count)
  }

  /// Reserves a page that the kernel fills with zeros in each forked child.
  ///
  /// - Returns: the page, and true if the kernel will wipe it; kernels before 4.14 cannot.
  mutating func pageWipedInCopies() throws(CrashHandlerError) -> (UnsafeMutableRawPointer, Bool) {
    let page = unsafe try wholePages(pageSize)
    let wipeOnFork: Int32 = 18  // MADV_WIPEONFORK
    return unsafe (page, madvise(page, pageSize, wipeOnFork) == 0)
  }

  /// Makes the thread that starts the handler the owner of `threadStack`, so that this thread unmaps that stack when it
  /// ends.
  mutating func giveThreadStack() { ownsThreadStack = false }

  /// Leaves the memory mapped for the rest of the process's life.
  consuming func keep() {
    discard self
  }

  deinit {
    let size = (capacity + pageSize - 1) & ~(pageSize - 1) + 2 * Self.guardSize
    unsafe munmap(
      base - Self.guardSize, size + (ownsThreadStack ? AlternateStack.mappingSize : 0))
  }
}
