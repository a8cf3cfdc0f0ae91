internal import Glibc

/// One piece of anonymous memory that everything the handler needs in a crash is cut from.
///
/// Touched only in a crash, so that it costs address space, not memory. Kept out of core files:
/// nothing of the program is in it. Never freed once the handler is installed. Between two zones
/// that cannot be touched: the kernel may put it right below a thread's stack, and an overflow by
/// frames larger than that stack's guard would write over it before it faults.
@safe
struct HandlerMemory: ~Copyable {
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  private var used = 0
  private static let pageSize = 4096
  private static let guardSize = 1 << 20

  /// Maps `capacity` bytes.
  init(capacity: Int) throws(CrashHandlerError) {
    let mapping = unsafe mmap(
      nil, capacity + 2 * Self.guardSize, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else {
      throw CrashHandlerError(
        .notInstalled, "cannot map \(capacity) bytes of memory", errorNumber: errno)
    }
    let memory = unsafe mapping + Self.guardSize
    guard unsafe mprotect(memory, capacity, PROT_READ | PROT_WRITE) == 0 else {
      let reason = errno
      _ = unsafe munmap(mapping, capacity + 2 * Self.guardSize)
      throw CrashHandlerError(
        .notInstalled, "cannot use \(capacity) bytes of memory", errorNumber: reason)
    }
    unsafe base = memory
    self.capacity = capacity
    // Huge pages would make the first touch, in a crash, clear 2 MiB.
    _ = unsafe madvise(memory, capacity, MADV_NOHUGEPAGE)
    _ = unsafe madvise(memory, capacity, Int32(MADV_DONTDUMP))
  }

  /// Cuts off whole pages.
  mutating func pages(_ count: Int) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    let size = (count + Self.pageSize - 1) / Self.pageSize * Self.pageSize
    guard capacity - used >= size else {
      throw CrashHandlerError(.notInstalled, "the handler's memory is too small; this is a bug")
    }
    defer { used += size }
    return unsafe base + used
  }

  /// Cuts off a copy of bytes.
  mutating func bytes(_ bytes: [UInt8]) throws(CrashHandlerError) -> UnsafeRawPointer {
    let place = unsafe try pages(max(bytes.count, 1))
    unsafe bytes.withUnsafeBytes { source in
      if let base = source.baseAddress {
        unsafe place.copyMemory(from: base, byteCount: source.count)
      }
    }
    return UnsafeRawPointer(place)
  }

  /// Cuts off a copy of text, NUL-terminated.
  mutating func text(_ text: String) throws(CrashHandlerError) -> UnsafePointer<CChar> {
    unsafe try bytes(Array(text.utf8) + [0]).assumingMemoryBound(to: CChar.self)
  }

  /// Cuts off a stack with a page below it that cannot be touched.
  mutating func stack(_ count: Int) throws(CrashHandlerError) -> UnsafeMutableRawPointer {
    let guardPage = unsafe try pages(Self.pageSize)
    unsafe mprotect(guardPage, Self.pageSize, PROT_NONE)
    return unsafe try pages(count)
  }

  /// Leaves the memory mapped for the rest of the process's life.
  consuming func keep() {
    discard self
  }

  deinit {
    unsafe munmap(base - Self.guardSize, capacity + 2 * Self.guardSize)
  }
}
