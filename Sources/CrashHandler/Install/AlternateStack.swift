internal import CSignalSafe
internal import Glibc
internal import Synchronization

/// A stack on which a thread handles signals, so that it can handle an overflow of its normal stack.
///
/// There is a guard page below the stack and a guard zone above it. The kernel may place the mapping directly below a
/// thread's normal stack, and a large frame on that stack can skip its guard page. If such a frame reached into the
/// alternate stack, the kernel would assume that a signal handler is already running there, and would not start at the
/// upper end of the alternate stack.
///
/// Not crash code. Source: sigaltstack(2), getauxval(3) AT_MINSIGSTKSZ.
@safe
struct AlternateStack {
  /// The address of the lowest byte of the whole mapping; a multiple of the page size.
  let mapping: UInt

  private static let pageSize = max(sysconf(Int32(_SC_PAGESIZE)), 4096)
  /// True if RLIMIT_AS or RLIMIT_DATA was set when the first alternate stack was created.
  private static let isLimited = addressSpace < .max
  private static let guardAbove = isLimited ? pageSize : 256 << 10
  /// The number of bytes that signal handlers can use.
  ///
  /// The stack has room for four of the kernel's signal frames (11 KiB each with AMX). The stack may hold the frames
  /// of one of the program's handlers, of the stop handler and of the crash handler at the same time.
  /// Docs/Decisions/11-alternate-stacks.md says how much stack the handlers took in measurements.
  static let size: Int = {
    let frame = Int(pm_minimum_signal_stack_size())
    return (max(isLimited ? 40 << 10 : 64 << 10, frame * 4) + pageSize - 1) / pageSize * pageSize
  }()
  /// If the address space is limited, all alternate stacks together may take at most 1/`share` of it.
  ///
  /// If each thread has a normal stack of at least 1 MiB, this share is enough for alternate stacks of 48 KiB for all
  /// threads, and it leaves enough for the program.
  private static let share: UInt64 = 20
  private static let count = Atomic<Int>(0)
  /// An alternate stack that the program has set is kept if it has at least this many bytes, and otherwise replaced.
  static let sufficientSize = max(Int(pm_minimum_signal_stack_size()), 2048) + (16 << 10)

  /// The size of the whole mapping in bytes: a guard page, the stack and the upper guard.
  static var mappingSize: Int { pageSize + size + guardAbove }

  init(mapping: UInt) { self.mapping = mapping }
  init(base: UInt) { mapping = base - UInt(Self.pageSize) }

  /// The address of the lowest byte that signal handlers can use.
  var base: UInt { mapping + UInt(Self.pageSize) }

  /// The smaller of RLIMIT_AS and RLIMIT_DATA; alternate stacks count toward both limits.
  private static var addressSpace: UInt64 {
    min(limit(of: RLIMIT_AS), limit(of: RLIMIT_DATA))
  }

  private static func limit(of resource: __rlimit_resource) -> UInt64 {
    var limit = rlimit()
    return unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
      ? UInt64(limit.rlim_cur) : .max
  }

  /// Returns the address of the mapping at `place`; if `place` is nil, creates a mapping.
  ///
  /// This function contains no generic code, because generic code may allocate memory for metadata, and new threads
  /// call this function.
  private static func mapping(at place: UInt?) -> UnsafeMutableRawPointer? {
    guard let place else { return unsafe pm_map_unlocked(mappingSize) }
    return unsafe UnsafeMutableRawPointer(bitPattern: place)
  }

  /// Maps a stack; returns nil, with errno set, if the kernel refuses or the stacks' share of the address space is
  /// used up.
  ///
  /// - Parameter place: the address of an existing, inaccessible mapping of `mappingSize` bytes to use; nil to create
  ///   one.
  static func make(in place: UInt? = nil) -> AlternateStack? {
    let count = Self.count.add(1, ordering: .relaxed).newValue
    guard !isLimited || UInt64(count * mappingSize) <= addressSpace / share,
      let memory = unsafe mapping(at: place)
    else {
      Self.count.subtract(1, ordering: .relaxed)
      errno = ENOMEM
      return nil
    }
    let stack = AlternateStack(mapping: UInt(bitPattern: memory))
    let usable = unsafe memory + pageSize
    guard unsafe mprotect(usable, size, PROT_READ | PROT_WRITE) == 0 else {
      let reason = errno
      // A mapping that was passed as `place` still belongs to the caller, so it is not unmapped here.
      if place == nil { stack.unmap() } else { Self.count.subtract(1, ordering: .relaxed) }
      errno = reason
      return nil
    }
    return stack
  }

  func unmap() {
    Self.count.subtract(1, ordering: .relaxed)
    _ = unsafe munmap(UnsafeMutableRawPointer(bitPattern: mapping), Self.mappingSize)
  }

  // MARK: - The calling thread

  /// The size of the calling thread's alternate stack, no matter who created it; 0 if the thread has none.
  static var currentSize: Int {
    var current = unsafe stack_t()
    guard unsafe sigaltstack(nil, &current) == 0,
      unsafe current.ss_flags & Int32(SS_DISABLE) == 0
    else { return 0 }
    return unsafe current.ss_size
  }

  /// Makes this stack the calling thread's alternate stack; returns false, with errno set, if the kernel refuses.
  ///
  /// - Parameters:
  ///   - isFirst: true if the thread has no alternate stack yet.
  ///   - thread: the calling thread's ID; nil to ask the kernel for it.
  func use(isFirst: Bool, thread: Int32? = nil) -> Bool {
    let size = isFirst ? StackOffers.firstSize(Self.size) : Self.size
    guard let place = unsafe UnsafeMutableRawPointer(bitPattern: base) else { return false }
    // `sigaltstack` is not called here, because this package's replacement for `sigaltstack` would record this stack as
    // one that the program set.
    let result = unsafe pm_set_signal_stack(place, size)
    guard result == 0 else {
      errno = Int32(-result)
      return false
    }
    pm_tell_stack(
      thread ?? pm_gettid(),
      pm_told_stack(base: UInt64(base), size: UInt64(size), is_handlers: true))
    return true
  }

  /// Removes this stack from the calling thread and unmaps it.
  ///
  /// If the thread uses another alternate stack, the thread keeps the other one. The function does nothing while a
  /// handler runs on this stack.
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
