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
    return unsafe Int32(truncatingIfNeeded: pm_openat(proc, path, flags))
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
    var filled = 0
    while filled < capacity {
      let result = unsafe pm_read(descriptor, place + filled, capacity &- filled)
      if result == -4 { continue }  // EINTR
      if result <= 0 { break }
      filled &+= result
    }
    _ = pm_close(descriptor)
    return filled
  }

  /// Reads `self/task/<thread>/<name>` from its start.
  @_noLocks
  func readTask(
    _ threadID: Int32, _ name: StaticString, into place: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    // The path is built where the contents will go: it is not needed once the file is open.
    var path = unsafe TextBuffer(place, capacity: capacity)
    path.append("self/task/")
    path.append(decimal: Int64(threadID))
    path.append("/")
    path.append(name)
    path.append(byte: 0)
    guard !path.isCut else { return 0 }
    return unsafe read(
      UnsafePointer(place.assumingMemoryBound(to: CChar.self)), into: place, capacity: capacity)
  }
}
