internal import CSignalSafe
internal import Glibc

/// A stack on which a thread handles signals, so that an overflow of its own stack can be handled
/// at all.
///
/// A guard page below it, and a guard zone above: the kernel puts the mapping right below a stack
/// that was made just before, and a frame of some size steps over that stack's own guard page. In
/// the alternate stack itself the kernel would take it for a signal handler that is running there.
///
/// Ordinary code. Source: sigaltstack(2), getauxval(3) AT_MINSIGSTKSZ.
@safe
struct AlternateStack {
  /// The lowest byte of the whole mapping; a multiple of the page size.
  let mapping: UInt

  private static let pageSize = max(sysconf(Int32(_SC_PAGESIZE)), 4096)
  private static let guardAbove = 256 << 10
  /// Bytes that signals can use.
  ///
  /// The kernel's signal frame (11 KiB with AMX) four times, since a handler of the program, a stop
  /// signal and a crash may be on it at once. The need was measured: Docs/Decisions/0011.
  static let size: Int = {
    let frame = Int(pm_minimum_signal_stack_size())
    return (max(64 << 10, frame * 4) + pageSize - 1) / pageSize * pageSize
  }()
  /// One that somebody else has made is left in place from this size on.
  static let sufficientSize = max(Int(pm_minimum_signal_stack_size()), 2048) + (16 << 10)

  private static var mappingSize: Int { pageSize + size + guardAbove }

  init(mapping: UInt) { self.mapping = mapping }
  init(base: UInt) { mapping = base - UInt(Self.pageSize) }

  /// The lowest byte that signals can use.
  var base: UInt { mapping + UInt(Self.pageSize) }

  /// Maps one; nil, with errno set, if the kernel refuses.
  static func make() -> AlternateStack? {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK
    let memory = unsafe mmap(nil, mappingSize, PROT_NONE, flags, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    let stack = AlternateStack(mapping: UInt(bitPattern: memory))
    let usable = unsafe memory + pageSize
    guard unsafe mprotect(usable, size, PROT_READ | PROT_WRITE) == 0 else {
      let reason = errno
      stack.unmap()
      errno = reason
      return nil
    }
    return stack
  }

  func unmap() {
    _ = unsafe munmap(UnsafeMutableRawPointer(bitPattern: mapping), Self.mappingSize)
  }

  // MARK: - The calling thread

  /// Bytes of the calling thread's, whoever made it; 0 if it has none.
  static var currentSize: Int {
    var current = unsafe stack_t()
    guard unsafe sigaltstack(nil, &current) == 0,
      unsafe current.ss_flags & Int32(SS_DISABLE) == 0
    else { return 0 }
    return unsafe current.ss_size
  }

  /// Makes it the calling thread's; false, with errno set, if the kernel refuses.
  ///
  /// - Parameter isFirst: true if the thread has none.
  func use(isFirst: Bool) -> Bool {
    let size = isFirst ? StackOffers.firstSize(Self.size) : Self.size
    guard let place = UnsafeMutableRawPointer(bitPattern: base) else { return false }
    // Not by libc's function: that one would tell it as the program's own.
    let result = unsafe pm_set_signal_stack(place, size)
    guard result == 0 else {
      errno = Int32(-result)
      return false
    }
    pm_tell_stack(
      pm_gettid(), pm_told_stack(base: UInt64(base), size: UInt64(size), is_handlers: true))
    return true
  }

  /// Takes it from the calling thread and unmaps it.
  ///
  /// A stack that the thread has instead of this one stays. Nothing happens while a handler runs on
  /// this one.
  func release() {
    var current = unsafe stack_t()
    guard unsafe sigaltstack(nil, &current) == 0 else { return }
    if unsafe UInt(bitPattern: current.ss_sp) == base {
      unsafe current.ss_flags = Int32(SS_DISABLE)
      guard unsafe sigaltstack(&current, nil) == 0 else { return }
      pm_tell_stack(pm_gettid(), pm_told_stack())
    }
    unmap()
  }
}
