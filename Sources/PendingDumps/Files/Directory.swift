internal import Glibc
internal import IntermediateDump

/// A directory held open, through which all files in it are reached.
///
/// Every operation uses the directory's descriptor and stays in the directory: no symbolic link is
/// followed, no file that blocks or acts when it is opened is opened, and a path that is exchanged
/// later changes nothing.
package struct Directory: ~Copyable, Sendable {
  private var file: OpenFile
  /// Device and inode of this directory when it was opened.
  package let status: FileStatus
  /// The mode of new files in it, which a group may share.
  package let fileMode: UInt32
  /// The user that files are given to, if this process is root and the directory another user's.
  package let owner: DirectoryOwner?

  package var path: String { file.path }
  package var descriptor: Int32 { file.descriptor }

  /// Opens a directory by its path, whose last component may be a link: the caller has checked it.
  package init(path: String) throws(CrashReportDatabaseError) {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CrashReportDatabaseError(systemCall: "opening the directory \(path)", errno: errno)
    }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw CrashReportDatabaseError(systemCall: "looking at \(path)", errno: number)
    }
    self.init(descriptor: descriptor, path: path, status: status)
  }

  /// - Parameters:
  ///   - descriptor: open, and closed with this value.
  ///   - status: of the directory.
  init(descriptor: Int32, path: String, status: stat) {
    file = OpenFile(descriptor: descriptor, path: path)
    self.status = FileStatus(status)
    fileMode = DatabaseDirectory.fileMode(in: status)
    owner = DirectoryOwner(status)
  }

  /// Opens a subdirectory.
  ///
  /// - Parameter create: makes it, for this user alone, where it is missing.
  package func subdirectory(
    _ name: String, create: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    try DatabaseDirectory.open(name, in: descriptor, path: "\(path)/\(name)", creating: create)
  }

  /// Leaves the descriptor open for the rest of the process's life.
  package mutating func keep() { file.keep() }

  /// Returns when changes of the directory's entries are on disk.
  package func synchronize() throws(CrashReportDatabaseError) {
    try file.synchronize()
  }

  /// The names in the directory, in no order; a name that is not UTF-8 has U+FFFD in it, and so is
  /// never opened.
  package func names() throws(CrashReportDatabaseError) -> [String] {
    var names: [String] = []
    try forEachName { name in
      names.append(name)
      return true
    }
    return names
  }

  /// Goes through the names that `names()` gives, with one of them in memory.
  ///
  /// - Parameter visit: returns false to end it.
  package func forEachName(
    _ visit: (String) throws(CrashReportDatabaseError) -> Bool
  ) throws(CrashReportDatabaseError) {
    // A descriptor of its own: threads would share the directory's position.
    let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = unsafe fdopendir(copy) else {
      let failure = errno
      if copy >= 0 { _ = Glibc.close(copy) }
      throw CrashReportDatabaseError(systemCall: "listing the directory \(path)", errno: failure)
    }
    defer { unsafe closedir(stream) }
    let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 19
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let start = unsafe UnsafeRawPointer(entry) + nameOffset
      let name = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
      if name != ".", name != "..", try !visit(name) { return }
    }
    guard errno == 0 else {
      throw CrashReportDatabaseError(systemCall: "listing the directory \(path)", errno: errno)
    }
  }

  /// The status of a name, of a link itself and not its target.
  ///
  /// - Returns: nil only where there is no such name.
  /// - Throws: where the system does not say: what cannot be seen may be there.
  package func status(of name: String) throws(CrashReportDatabaseError) -> FileStatus? {
    var status = stat()
    while unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
      switch errno {
      case EINTR: continue
      case ENOENT: return nil
      default:
        throw CrashReportDatabaseError(systemCall: "looking at \(path)/\(name)", errno: errno)
      }
    }
    return FileStatus(status)
  }

  /// Opens a regular file; any other kind of file is an error.
  package func open(
    _ name: String, forWriting: Bool = false
  ) throws(CrashReportDatabaseError) -> OpenFile {
    try open(name, flags: forWriting ? O_RDWR : O_RDONLY)
  }

  private func open(_ name: String, flags: Int32) throws(CrashReportDatabaseError) -> OpenFile {
    let path = "\(path)/\(name)"
    // O_NONBLOCK: opening a FIFO must not wait for its writer.
    let result = unsafe openat(
      descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard result >= 0 else {
      if errno == ELOOP || errno == ENXIO {
        throw CrashReportDatabaseError(.notARegularFile, path, errno: errno)
      }
      throw CrashReportDatabaseError(systemCall: "opening \(path)", errno: errno)
    }
    var file = OpenFile(descriptor: result, path: path)
    let status = try file.status()
    guard status.kind == .regular else { throw CrashReportDatabaseError(.notARegularFile, path) }
    file.firstStatus = status
    return file
  }

  /// Reads a whole regular file of at most `limit` bytes.
  package func contents(
    of name: String, limit: Int
  ) throws(CrashReportDatabaseError) -> [UInt8] {
    try open(name).read(limit: limit)
  }

  /// Reads a small file with three system calls.
  ///
  /// Does not ask what kind of file it is: one that is not regular gives no bytes, or others than those
  /// that are looked for, without waiting.
  ///
  /// - Returns: nil for a file of more than `limit` bytes, one of another kind or user, and where there
  ///   is none.
  /// - Throws: for an error that says nothing of the file.
  package func smallFile(
    _ name: String, limit: Int
  ) throws(CrashReportDatabaseError) -> [UInt8]? {
    let file = unsafe openat(
      descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard file >= 0 else {
      guard SystemRefusals.isPassing(errno) else { return nil }
      throw CrashReportDatabaseError(systemCall: "opening \(path)/\(name)", errno: errno)
    }
    defer { _ = Glibc.close(file) }
    // A read that fills the buffer may have left bytes.
    for size in [512, limit + 1] {
      var result = -1
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        repeat {
          result = unsafe pread(file, buffer.baseAddress, size, 0)
        } while result < 0 && errno == EINTR
        count = max(0, result)
      }
      guard result >= 0 else {
        guard SystemRefusals.isPassing(errno) else { return nil }
        throw CrashReportDatabaseError(systemCall: "reading \(path)/\(name)", errno: errno)
      }
      if result < size { return bytes }
    }
    return nil
  }

  /// Appends bytes to a file; makes it, for this user alone, where it is missing.
  package func append(_ bytes: [UInt8], to name: String) throws(CrashReportDatabaseError) {
    if try status(of: name) == nil { _ = try create(name) }
    try open(name, flags: O_WRONLY | O_APPEND).write(bytes)
  }

  /// Makes a file, for this user alone or for the group that shares the database; nil if the name is
  /// taken.
  package func create(_ name: String) throws(CrashReportDatabaseError) -> OpenFile? {
    let path = "\(path)/\(name)"
    let result = unsafe name.withCString { name in
      unsafe openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    guard result >= 0 else {
      if errno == EEXIST { return nil }
      throw CrashReportDatabaseError(systemCall: "making \(path)", errno: errno)
    }
    var file = OpenFile(descriptor: result, path: path)
    settle(&file)
    return file
  }

  /// Makes a FIFO and opens it for reading, without waiting for a writer.
  ///
  /// SMB and FAT know no FIFOs, and may leave another file in its place.
  ///
  /// - Returns: nil where there can be none; then the name is free again.
  package func createFIFO(_ name: String) -> OpenFile? {
    guard unsafe name.withCString({ unsafe mkfifoat(descriptor, $0, 0o600) }) == 0 else {
      if errno != EEXIST { try? remove(name) }
      return nil
    }
    let result = unsafe name.withCString { name in
      unsafe openat(descriptor, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
    }
    if result >= 0 {
      var file = OpenFile(descriptor: result, path: "\(path)/\(name)")
      settle(&file)
      if file.firstStatus?.kind == .fifo { return file }
    }
    try? remove(name)
    return nil
  }

  /// Gives a new file its mode, whatever the umask is, and its owner: a converter has to open it.
  private func settle(_ file: inout OpenFile) {
    file.firstStatus = try? file.status()
    if file.firstStatus?.mode != fileMode { _ = fchmod(file.descriptor, fileMode) }
    owner?.give(file.descriptor)
  }

  /// Makes a file of a name that no other process uses: the stem, a random number and the suffix.
  package func createTemporary(
    _ stem: String, suffix: String = ".tmp"
  ) throws(CrashReportDatabaseError) -> OpenFile {
    let name = "\(stem).\(UInt64.random(in: .min ... .max))\(suffix)"
    guard let file = try create(name) else {
      throw CrashReportDatabaseError(systemCall: "making \(path)/\(name)", errno: EEXIST)
    }
    return file
  }

  /// Removes a file; a missing one is not an error.
  package func remove(_ name: String) throws(CrashReportDatabaseError) {
    guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw CrashReportDatabaseError(systemCall: "removing \(path)/\(name)", errno: errno)
    }
  }
}

extension Directory {
  /// The outcome of a rename.
  package enum RenameResult: Sendable {
    case done
    /// The old name no longer exists: another process was first.
    case sourceMissing
    /// The new name is taken, and was not to be replaced.
    case targetExists
  }

  /// Renames a file, into another directory of the same file system if wanted.
  ///
  /// - Parameter replacing: true if a file of the new name may be lost; then it is one atomic step. If
  ///   not, the file has both names for a moment, and on a file system without hard links a file that
  ///   is made in that moment is lost.
  package func rename(
    _ name: String, to directory: borrowing Directory, _ newName: String, replacing: Bool
  ) throws(CrashReportDatabaseError) -> RenameResult {
    if !replacing {
      // rename(2) replaces the target; link(2) fails where it exists.
      if unsafe linkat(descriptor, name, directory.descriptor, newName, 0) == 0 {
        try? remove(name)
        return .done
      }
      // File systems without links say EPERM, ENOTSUP, ENOSYS or, between directories, EXDEV.
      guard errno != ENOENT, errno != EEXIST else {
        return try result(errno, name, directory, newName)
      }
      if try directory.status(of: newName) != nil { return .targetExists }
    }
    if unsafe renameat(descriptor, name, directory.descriptor, newName) == 0 { return .done }
    return try result(errno, name, directory, newName)
  }

  private func result(
    _ errno: Int32, _ name: String, _ directory: borrowing Directory, _ newName: String
  ) throws(CrashReportDatabaseError) -> RenameResult {
    switch errno {
    case ENOENT: return .sourceMissing
    case EEXIST: return .targetExists
    default:
      throw CrashReportDatabaseError(
        systemCall: "renaming \(path)/\(name) to \(directory.path)/\(newName)", errno: errno)
    }
  }

  /// Puts a small file in place, whole or not at all, a power cut included.
  ///
  /// - Parameters:
  ///   - workshop: the directory, on the same file system, in which it is written first.
  ///   - replacing: true if a file of that name may be lost.
  ///   - synchronizing: false if the caller will synchronize this directory.
  /// - Returns: false if there was one and it was not to be replaced.
  package func put(
    _ bytes: [UInt8], as name: String, by workshop: borrowing Directory, replacing: Bool,
    synchronizing: Bool = true
  ) throws(CrashReportDatabaseError) -> Bool {
    let file = try workshop.createTemporary(name)
    do throws(CrashReportDatabaseError) {
      try file.write(bytes)
      try file.synchronize()
      switch try workshop.rename(file.name, to: self, name, replacing: replacing) {
      case .done:
        if synchronizing { try synchronize() }
        return true
      case .targetExists:
        try workshop.remove(file.name)
        return false
      case .sourceMissing:
        throw CrashReportDatabaseError(.newReportLost, file.path)
      }
    } catch {
      try? workshop.remove(file.name)
      throw error
    }
  }
}
