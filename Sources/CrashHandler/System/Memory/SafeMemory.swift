internal import CSignalSafe

/// Reads the program's memory through the kernel or, if process_vm_readv cannot be called, with plain loads.
///
/// For an invalid address, the kernel returns an error instead of raising a signal. After a fault in a plain load, the
/// handler continues at a recovery point.
///
/// If their address is known, the arguments, the environment and the auxiliary vector's strings are never read, even if
/// a pointer refers to them, because they may contain credentials.
///
/// RUNS-DURING-CRASH. Source: process_vm_readv(2).
@safe
struct SafeMemory {
  let processID: Int32
  /// The start of the arguments; nothing is read from this address up to `environmentEnd`.
  ///
  /// The value is 0 if the address is not known; reads are then not restricted.
  let environmentStart: UInt64
  /// The end of the mapping that contains `environmentStart`.
  let environmentEnd: UInt64
  /// The recovery point for copies with plain loads, which are used if process_vm_readv cannot be called.
  ///
  /// The value is nil if the handler could not recover from a fault.
  let recoveryPoint: UnsafeMutablePointer<pm_recovery_point>?
  /// True if process_vm_readv may be called; otherwise memory is read with plain loads.
  var usesSystemCall = true
  /// The cache of recently read pages; nil to read from memory each time.
  var pages: PageCache?
  /// The reader for pages that are neither in memory nor in swap, while their states are looked up; nil to read all
  /// pages in the same way.
  var absent: AbsentPages?

  /// Returns how many consecutive bytes, starting at an address, do not belong to the arguments and the environment,
  /// which must not be read; at most `count`.
  @_noLocks
  func allowed(_ address: UInt64, count: Int) -> Int {
    let (end, overflow) = address.addingReportingOverflow(UInt64(truncatingIfNeeded: count))
    guard count > 0, !overflow else { return 0 }
    guard environmentStart != 0, address < environmentEnd, end > environmentStart else {
      return count
    }
    guard address < environmentStart else { return 0 }
    return Int(truncatingIfNeeded: environmentStart &- address)
  }

  /// Returns how many consecutive bytes, starting at an address, may be read without waiting; at most `count`.
  ///
  /// While the states of pages are looked up, these are pages in memory or in swap; later, pages of readable mappings.
  @_noLocks
  func countAtHand(_ address: UInt64, count: Int) -> Int {
    let allowed = allowed(address, count: count)
    guard allowed > 0, let absent else { return allowed }
    guard absent.resident.isOpen else { return absent.mappings.readable(address, count: allowed) }
    let run = absent.resident.run(address, count: allowed)
    return run.isHere ? run.count : 0
  }

  /// Copies up to `count` bytes; returns the number of bytes before the first unreadable byte.
  ///
  /// - Parameter isBegun: true if the bytes after this range will be needed too, so that the next pages are read ahead.
  @_noLocks
  func copy(
    _ address: UInt64, to place: UnsafeMutableRawPointer, count: Int, isBegun: Bool = false
  ) -> Int {
    guard let pages, count <= PageCache.pageSize else {
      return unsafe copyDirectly(address, to: place, count: count)
    }
    let allowed = allowed(address, count: count)
    return unsafe pages.copy(address, to: place, count: allowed, isBegun: isBegun, from: self)
  }

  /// Fills the cache with pages that will be needed, using few system calls.
  ///
  /// This function does nothing if there is no cache, or if process_vm_readv may not be called.
  ///
  /// - Parameter addresses: the pages, as ranges that `Scratch.setRange` stored.
  @_noLocks
  func readAhead(_ addresses: Bytes) {
    if usesSystemCall { pages?.read(addresses, from: self) }
  }

  /// Copies whole pages into consecutive memory, with one system call.
  ///
  /// - Parameters:
  ///   - addresses: the pages, as ranges that `Scratch.setRange` stored.
  ///   - count: at most `PageCache.batch`.
  /// - Returns: the number of pages before the first page that cannot be read, must not be read, or is not in memory.
  @_noLocks
  func copyPages(_ addresses: Bytes, count: Int, to place: UnsafeMutableRawPointer) -> Int {
    var allowed = 0
    let size = PageCache.pageSize
    while allowed < count, countAtHand(addresses.word(allowed &* 16), count: size) == size {
      allowed &+= 1
    }
    guard allowed > 0 else { return 0 }
    let copied = unsafe copyRanges(
      addresses.address, number: allowed, to: place, count: allowed &* size)
    return copied > 0 ? copied / size : 0
  }

  /// Copies bytes without the cache.
  @_noLocks
  func copyDirectly(_ address: UInt64, to place: UnsafeMutableRawPointer, count: Int) -> Int {
    let allowed = allowed(address, count: count)
    guard let absent, absent.resident.isOpen else {
      return unsafe copyAtHand(address, to: place, count: allowed)
    }
    var done = 0
    while done < allowed {
      let start = address &+ UInt64(truncatingIfNeeded: done)
      let run = absent.resident.run(start, count: allowed &- done)
      let copied =
        unsafe run.isHere
        ? copyAtHand(start, to: place + done, count: run.count)
        : absent.copy(start, to: place + done, count: run.count)
      if copied == 0 { break }
      done &+= copied
    }
    return done
  }

  private func copyAtHand(
    _ address: UInt64, to place: UnsafeMutableRawPointer, count: Int
  ) -> Int {
    guard count > 0,
      let source = unsafe UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: address))
    else { return 0 }
    if usesSystemCall {
      let result = unsafe pm_copy_memory(processID, place, source, count)
      if result > 0 { return result }
      // After an error other than EFAULT, such as ENOSYS or EPERM, plain loads may still be able to read the memory.
      if result == -Int(EFAULT) || result == 0 { return 0 }
    }
    return unsafe copyGuarded(source, to: place, count: count)
  }

  /// Copies page by page with plain loads.
  ///
  /// After a fault, the handler continues at a recovery point, which is set for each page.
  ///
  /// This function is needed if process_vm_readv fails; for example, some seccomp profiles answer it with ENOSYS
  /// (getsentry/sentry-native#1655).
  @_noLocks
  func copyGuarded(
    _ source: UnsafeRawPointer, to place: UnsafeMutableRawPointer, count: Int
  ) -> Int {
    guard let recoveryPoint = unsafe recoveryPoint else { return 0 }
    var done = 0
    while done < count {
      let offsetInPage = unsafe Int(bitPattern: source + done) & 4095
      let rest = count &- done
      let piece = 4096 &- offsetInPage < rest ? 4096 &- offsetInPage : rest
      var request = unsafe CopyRequest(source: source + done, place: place + done, count: piece)
      if unsafe pm_run_section(recoveryPoint, pm_copy_guarded, &request) != 0 { break }
      done &+= piece
    }
    return done
  }

  /// Copies ranges into one buffer with one system call; returns the number of bytes that were copied.
  ///
  /// The copy ends before the first byte that cannot be read; the result is negative if the system call is not allowed.
  ///
  /// - Parameters:
  ///   - ranges: ranges that `Scratch.setRange` stored; all their pages are in memory.
  ///   - number: the number of ranges, at most `PM_COPIED_RANGES`.
  ///   - count: the number of bytes of all ranges together.
  @_noLocks
  func copyRanges(
    _ ranges: UnsafeRawPointer, number: Int, to place: UnsafeMutableRawPointer, count: Int
  ) -> Int {
    guard usesSystemCall else { return -1 }
    let result = unsafe pm_copy_ranges(processID, place, count, ranges, number)
    return result == -Int(EFAULT) ? 0 : result
  }

  @_noLocks
  func isReadable(_ address: UInt64) -> Bool {
    var byte: UInt8 = 0
    return unsafe copy(address, to: &byte, count: 1) == 1
  }

  /// Returns the address itself if it is readable, otherwise the start of the next readable page above it.
  ///
  /// The result is nil if no page within 1 MiB, the size of the kernel's stack guard gap, is readable.
  @_noLocks
  func firstReadable(from address: UInt64) -> UInt64? {
    var place = address
    for _ in Indices(257) {
      if isReadable(place) { return place }
      place = (place & ~4095) &+ 4096
    }
    return nil
  }

  /// The instruction at an address, of at most 4 bytes; nil if it cannot be read.
  @_noLocks
  func instruction(at address: UInt64, size: Int) -> UInt32? {
    var value: UInt32 = 0
    guard size <= 4, unsafe copy(address, to: &value, count: size) == size else { return nil }
    return value
  }

  /// The 64-bit word at an address; nil if it cannot be read.
  @inline(never) @_noLocks
  func word(_ address: UInt64) -> UInt64? {
    var value: UInt64 = 0
    guard unsafe copy(address, to: &value, count: 8, isBegun: true) == 8 else { return nil }
    return value
  }
}

extension Capture {
  /// A reader of the program's memory that recovers from faults.
  var memory: SafeMemory { @_noLocks get { memory(nil) } }

  /// A reader of memory with a `PageCache`, for sections that run after the threads have been stopped.
  var cachedMemory: SafeMemory { @_noLocks get { memory(session.pages) } }

  var absentPages: AbsentPages {
    @_noLocks get {
      AbsentPages(resident: session.resident, mappings: session.mappings, proc: proc)
    }
  }

  @inline(never)
  private func memory(_ pages: PageCache?) -> SafeMemory {
    unsafe SafeMemory(
      processID: shared.process.id, environmentStart: installed.environment.start,
      environmentEnd: installed.environment.end,
      recoveryPoint: session.hasFaultStack ? session.recoveryPoints.copy : nil,
      usesSystemCall: mayMake(CallBit.memory), pages: pages,
      absent: absentPages)
  }
}

/// The argument of `pm_copy_guarded`: what to copy, and to where.
@unsafe
private struct CopyRequest {
  let source: UnsafeRawPointer
  let place: UnsafeMutableRawPointer
  let count: Int
}

@c(pm_copy_guarded) @_noLocks
private func pm_copy_guarded(_ argument: UnsafeMutableRawPointer) {
  let request = unsafe argument.assumingMemoryBound(to: CopyRequest.self)
  unsafe pm_copy_bytes(request.pointee.place, request.pointee.source, request.pointee.count)
}
