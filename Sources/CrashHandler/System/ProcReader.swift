internal import CSignalSafe

/// Reads files in /proc for a dump, through a descriptor of /proc that was opened when the handler started.
///
/// Files about memory, descriptors, mounts and namespaces are read in `thread-self`, because `self` does not show these
/// facts after the first thread has ended.
///
/// RUNS-DURING-CRASH. Source: proc(5).
@safe
struct ProcReader {
  private let proc: Int32
  /// The dump for which files are read; nil outside a dump.
  let capture: Capture?

  @_noLocks
  init(proc: Int32, _ capture: Capture? = nil) {
    (self.proc, self.capture) = (proc, capture)
  }

  /// True if `/proc` is not open, so that none of its files can be read.
  var isMissing: Bool { @_noLocks get { proc < 0 } }

  /// Opens a file or directory in `/proc`; returns -errno if it cannot be opened.
  @_noLocks
  func open(_ path: UnsafePointer<CChar>, directory: Bool = false) -> Int32 {
    let flags = directory ? O_RDONLY | O_CLOEXEC | O_DIRECTORY : O_RDONLY | O_CLOEXEC
    guard proc >= 0 else { return -ENOENT }
    var result: Int32 = 0
    for _ in Indices(3) {
      result = unsafe pm_openat(proc, path, flags)
      // After these errors, further attempts do not help: the file does not exist, the thread has ended, or the process
      // is not dumpable.
      if result >= 0 || result == -ENOENT || result == -ESRCH || result == -EACCES { break }
      // The descriptor table may be full.
      if let capture { unsafe pm_close_all(&capture.session.files.unclosed) }
    }
    return result
  }

  /// Closes a file that `open` has opened; if the thread has its own descriptor table, maybe later.
  @_noLocks
  func close(_ descriptor: Int32) {
    if let capture, capture.session.files.hasOwnDescriptors {
      unsafe pm_close_later(&capture.session.files.unclosed, descriptor)
    } else {
      _ = pm_close(descriptor)
    }
  }

  @_noLocks
  func open(named path: StaticString, directory: Bool = false) -> Int32 {
    unsafe open(ProcReader.characters(path), directory: directory)
  }

  @_noLocks
  static func characters(_ path: StaticString) -> UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(path.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  /// Reads a file from the start.
  ///
  /// For a file that consists of one record, one system call is enough: the kernel creates the whole record and then
  /// copies as much as fits, so nothing follows a short read. The kernel returns lists such as `maps` page by page; they
  /// are read until the list ends, the memory is full, or four reads in a row fail.
  ///
  /// - Returns: the number of bytes, at most `capacity`; 0 if the file cannot be read.
  ///
  /// Source: Linux fs/seq_file.c, seq_read_iter and single_open.
  @_noLocks
  func read(
    named path: StaticString, into place: UnsafeMutableRawPointer, capacity: Int,
    isList: Bool = false
  ) -> Int {
    let result = unsafe attempt(
      ProcReader.characters(path), into: place, capacity: capacity, isList: isList)
    return result > 0 ? result : 0
  }

  private func attempt(
    _ path: UnsafePointer<CChar>, into place: UnsafeMutableRawPointer, capacity: Int, isList: Bool
  ) -> Int {
    let descriptor = unsafe open(path)
    guard descriptor >= 0 else { return Int(descriptor) }
    var (filled, result, attempts) = (0, 0, 0)
    repeat {
      result = unsafe pm_read(descriptor, place + filled, capacity &- filled)
      if result > 0 { filled &+= result }
      attempts = result < 0 ? attempts &+ 1 : 0
    } while result < 0 ? attempts < 4 : isList && result > 0 && filled < capacity
    close(descriptor)
    return filled > 0 ? filled : result
  }

  /// Reads a file into the memory that holds its path, because the path is not needed once the file is open.
  ///
  /// Returns the number of bytes; -errno if the file cannot be read; 0 if the path was too long for the memory.
  @_noLocks
  func attempt(over path: TextBuffer) -> Int {
    var path = path
    path.append(byte: 0)
    guard !path.isCut else { return 0 }
    let characters = unsafe UnsafePointer(path.place.assumingMemoryBound(to: CChar.self))
    return unsafe attempt(characters, into: path.place, capacity: path.capacity, isList: false)
  }

  /// Reads the target of a symbolic link into scratch memory; the result is empty if the link cannot be read.
  @_noLocks
  func link(_ path: UnsafePointer<CChar>, in scratch: Scratch) -> Bytes {
    guard proc >= 0 else { return scratch.bytes(count: 0) }
    let size = scratch.size < 4096 ? scratch.size : 4096
    let count = unsafe pm_readlink(proc, path, scratch.address, size)
    return scratch.bytes(count: count > 0 ? count : 0)
  }

  /// Reads the name of a process or thread; returns the number of bytes without the line feed, or -errno if the name
  /// cannot be read.
  @_noLocks
  func readName(of id: Int32, into place: UnsafeMutableRawPointer, capacity: Int) -> Int {
    var path = unsafe TextBuffer(place, capacity: capacity)
    path.append(decimal: Int64(id))
    path.append("/comm")
    let count = attempt(over: path)
    return count > 0 ? unsafe Bytes(place, count: count).withoutLineFeeds.count : count
  }
}

extension MappingTable {
  /// Reads the list of mappings line by line, so that its text may be longer than the buffer.
  ///
  /// The kernel returns whole lines, at most a page of them at a time. The list ends with an empty read, or with four
  /// failures in a row.
  @_noLocks
  func read(with proc: ProcReader, near stackPointer: UInt64) {
    let descriptor = proc.open(named: "thread-self/maps")
    guard descriptor >= 0 else { return }
    var failures = 0
    while failures < 4 {
      let count = unsafe pm_read(descriptor, room.address, room.size)
      if count == 0 { break }
      failures = count < 0 ? failures &+ 1 : 0
      add(count, near: stackPointer)
    }
    proc.close(descriptor)
  }
}
