internal import CSignalSafe

/// Reads small files of /proc in a crash, relative to the descriptor held since install.
///
/// RUNS-DURING-CRASH. Source: proc(5).
@safe
struct ProcFile {
  private let proc: Int32

  @_noLocks
  init(proc: Int32) {
    self.proc = proc
  }

  /// Opens a file or folder; negative, -errno, if it cannot be had.
  @_noLocks
  func open(_ path: UnsafePointer<CChar>, directory: Bool = false) -> Int32 {
    // O_RDONLY | O_CLOEXEC, and O_DIRECTORY, which differs between architectures.
    var flags: Int32 = 0x80000
    if directory { flags |= ProcFile.directoryFlag }
    var result = -2  // ENOENT
    var attempts = 0
    while proc >= 0, attempts < 3 {
      result = unsafe pm_openat(proc, path, flags)
      // ENOENT, ESRCH: the thread has ended. EACCES: its process is not dumpable.
      if result >= 0 || result == -2 || result == -3 || result == -13 { break }
      attempts &+= 1
    }
    return Int32(truncatingIfNeeded: result)
  }

  /// Reads an open file to its end, as much as there is room for; returns the bytes read.
  @_noLocks
  static func fill(
    _ place: UnsafeMutableRawPointer, capacity: Int, from descriptor: Int32
  ) -> Int {
    var filled = 0
    var attempts = 0
    while filled < capacity, attempts < 4 {
      let result = unsafe pm_read(descriptor, place + filled, capacity &- filled)
      if result == 0 { break }
      if result > 0 { filled &+= result }
      attempts = result < 0 ? attempts &+ 1 : 0
    }
    return filled
  }

  static var directoryFlag: Int32 {
    @_noLocks get {
      #if arch(arm64)
        0o40000
      #else
        0o200000
      #endif
    }
  }

  /// Reads a file from its start.
  ///
  /// - Returns: bytes read, at most `capacity`; 0 if it cannot be read.
  @_noLocks
  func read(
    _ path: UnsafePointer<CChar>, into place: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    let descriptor = unsafe open(path)
    guard descriptor >= 0 else { return 0 }
    let filled = unsafe ProcFile.fill(place, capacity: capacity, from: descriptor)
    _ = pm_close(descriptor)
    return filled
  }

  /// Reads `self/task/<thread>/<name>` from its start.
  @_noLocks
  func readTask(
    _ threadID: Int32, _ name: StaticString, into place: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    // The path is built where the contents will go: it is not needed once the file is open.
    var builder = unsafe PathBuilder(place, capacity: capacity)
    builder.append("self/task/")
    builder.append(decimal: threadID)
    builder.append("/")
    builder.append(name)
    guard let path = unsafe builder.finish() else { return 0 }
    return unsafe read(path, into: place, capacity: capacity)
  }
}

/// Puts a path together in memory that is given.
///
/// RUNS-DURING-CRASH.
@safe
private struct PathBuilder {
  private let place: UnsafeMutableRawPointer
  private let capacity: Int
  private var count = 0

  @_noLocks
  init(_ place: UnsafeMutableRawPointer, capacity: Int) {
    unsafe self.place = place
    self.capacity = capacity
  }

  @_noLocks
  mutating func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    guard length < capacity &- count else { return }
    unsafe pm_copy_bytes(place + count, text.utf8Start, length)
    count &+= length
  }

  /// Appends a number that is not negative.
  @_noLocks
  mutating func append(decimal value: Int32) {
    var digits = 1
    var rest = value / 10
    while rest > 0 {
      digits &+= 1
      rest /= 10
    }
    guard digits < capacity &- count else { return }
    rest = value
    var position = count &+ digits
    while position > count {
      position &-= 1
      unsafe place.storeBytes(
        of: UInt8(truncatingIfNeeded: rest % 10 &+ 0x30), toByteOffset: position, as: UInt8.self)
      rest /= 10
    }
    count &+= digits
  }

  /// The path, NUL-terminated.
  @_noLocks
  mutating func finish() -> UnsafePointer<CChar>? {
    guard count < capacity else { return nil }
    unsafe place.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
    return unsafe UnsafePointer(place.assumingMemoryBound(to: CChar.self))
  }
}
