internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// An open directory, whose files are reached only through its descriptor.
///
/// Every operation reaches files only through the descriptor of this directory, or of another `Directory` that the
/// caller passes. No operation on a file follows a symbolic link, or waits when it opens a FIFO. If the path is
/// replaced later, this value still uses the same directory.
package struct Directory: ~Copyable, Sendable {
  private var file: OpenFile
  /// The status of this directory when it was opened.
  package let status: FileStatus
  /// The mode of new files in the directory: 0600, or 0660 if a group shares the database.
  package let fileMode: UInt32
  /// The user to whom new files are given, if this process is root and the directory belongs to another user.
  package let owner: DirectoryOwner?
  /// True if only files of this directory's owner, of this user and of root are opened, because others may add files.
  private let needsOwnFiles: Bool

  package var path: String { file.path }
  package var descriptor: Int32 { file.descriptor }

  /// Opens a directory by its path; the path's last component may be a link that the caller has checked.
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
  ///   - descriptor: an open descriptor, which is closed when this value is destroyed.
  ///   - status: the directory's status, as fstat(2) returned it.
  init(descriptor: Int32, path: String, status: stat) {
    file = OpenFile(descriptor: descriptor, path: path)
    self.status = FileStatus(status)
    fileMode = DatabaseDirectory.fileMode(in: status)
    owner = DirectoryOwner(status)
    needsOwnFiles = DatabaseDirectory.needsOwnFiles(in: status)
  }

  /// Throws if a file is another user's, and could have been added by a user who only may write to this directory.
  private func check(_ file: FileStatus, _ path: String) throws(CrashReportDatabaseError) {
    guard needsOwnFiles, file.owner != status.owner, file.owner != 0, file.owner != pm_file_user()
    else { return }
    throw CrashReportDatabaseError(
      .foreignOwner,
      "\(path) belongs to user \(file.owner), who may only add files to its directory; the directory's owner is user "
        + "\(status.owner)")
  }

  /// Opens a subdirectory.
  ///
  /// - Parameter create: true to create the directory, accessible only by this user, if it is missing.
  package func subdirectory(
    _ name: String, create: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    try DatabaseDirectory.open(name, in: descriptor, path: "\(path)/\(name)", creating: create)
  }

  /// Keeps the descriptor open until the process ends, even after this value is destroyed.
  package mutating func keep() { file.keep() }

  /// Waits until changes to the directory's entries are stored on disk.
  package func synchronize() throws(CrashReportDatabaseError) {
    try file.synchronize()
  }

  /// The names in the directory, in arbitrary order.
  ///
  /// In a name that is not valid UTF-8, U+FFFD replaces the invalid bytes, so no file can be opened under this name.
  package func names() throws(CrashReportDatabaseError) -> [String] {
    var names: [String] = []
    try forEachName { name in
      names.append(name)
      return true
    }
    return names
  }

  /// Visits the names that `names()` would return, but keeps only one of them in memory at a time.
  ///
  /// - Parameter visit: called with each name; returns false to stop.
  package func forEachName(
    _ visit: (String) throws(CrashReportDatabaseError) -> Bool
  ) throws(CrashReportDatabaseError) {
    // The directory is opened again, because all users of one descriptor share its read position.
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

  /// Returns the status of a file; for a link, the status of the link itself.
  ///
  /// - Returns: nil only if no file has this name.
  /// - Throws: if the status cannot be read for any other reason.
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

  /// Opens a regular file; throws for any other kind of file.
  package func open(
    _ name: String, forWriting: Bool = false
  ) throws(CrashReportDatabaseError) -> OpenFile {
    try open(name, flags: forWriting ? O_RDWR : O_RDONLY)
  }

  private func open(_ name: String, flags: Int32) throws(CrashReportDatabaseError) -> OpenFile {
    let path = "\(path)/\(name)"
    // O_NONBLOCK is set so that opening a FIFO does not wait for a writer.
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
    try check(status, path)
    file.firstStatus = status
    return file
  }

  /// Reads a whole regular file of at most `limit` bytes.
  package func contents(
    of name: String, limit: Int
  ) throws(CrashReportDatabaseError) -> [UInt8] {
    try open(name).read(limit: limit)
  }

  /// Reads a small file with only three system calls, or four if it has 512 bytes or more.
  ///
  /// The kind of file is not checked. Reading a file that is not regular may return no bytes or unexpected bytes, but
  /// does not block.
  ///
  /// - Returns: nil if the file is missing, has more than `limit` bytes, or cannot be opened or read for a lasting
  ///   reason.
  /// - Throws: for an error that may be temporary, such as a lack of memory or descriptors.
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
    if needsOwnFiles {
      var status = stat()
      guard unsafe fstat(file, &status) == 0 else { return nil }
      try check(FileStatus(status), "\(path)/\(name)")
    }
    // A read that fills the buffer may not have reached the end of the file, so it is repeated with a larger buffer.
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

  /// Appends bytes to a file; creates the file, as `create` does, if it is missing.
  package func append(_ bytes: [UInt8], to name: String) throws(CrashReportDatabaseError) {
    if try status(of: name) == nil { _ = try create(name) }
    try open(name, flags: O_WRONLY | O_APPEND).write(bytes)
  }

  /// Creates a file that this user, and a group that shares the database, may access; returns nil if the name is
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

  /// Creates a FIFO and opens it for reading, without waiting for a writer.
  ///
  /// SMB and FAT do not support FIFOs. Instead of failing, they may create a file of another kind, which is removed.
  ///
  /// - Returns: nil if the FIFO cannot be created or opened.
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

  /// Sets the mode and owner of a new file, whatever the umask is, so that a converter can open the file.
  private func settle(_ file: inout OpenFile) {
    file.firstStatus = try? file.status()
    if file.firstStatus?.mode != fileMode { _ = fchmod(file.descriptor, fileMode) }
    owner?.give(file.descriptor)
  }

  private static func temporaryName(_ stem: String, _ suffix: String = ".tmp") -> String {
    "\(stem).\(UInt64.random(in: .min ... .max))\(suffix)"
  }

  /// Creates a file with a unique name, which consists of a stem, a random number and a suffix.
  package func createTemporary(
    _ stem: String, suffix: String = ".tmp"
  ) throws(CrashReportDatabaseError) -> OpenFile {
    let name = Self.temporaryName(stem, suffix)
    guard let file = try create(name) else {
      throw CrashReportDatabaseError(systemCall: "making \(path)/\(name)", errno: EEXIST)
    }
    return file
  }

  /// Creates a temporary file that does not get its name before `link`, so that nothing remains of it if the process
  /// ends.
  ///
  /// On a file system without such files, the file has its name from the start.
  package func createUnlinked(_ stem: String) throws(CrashReportDatabaseError) -> OpenFile {
    let result = unsafe openat(descriptor, ".", O_RDWR | __O_TMPFILE | O_CLOEXEC, 0o600)
    guard result >= 0 else { return try createTemporary(stem) }
    var file = OpenFile(descriptor: result, path: "\(path)/\(Self.temporaryName(stem))")
    settle(&file)
    return file
  }

  /// Gives a file of `createUnlinked` its name.
  ///
  /// Source: open(2), "O_TMPFILE".
  package func link(_ file: borrowing OpenFile) throws(CrashReportDatabaseError) {
    let source = "/proc/self/fd/\(file.descriptor)"
    guard
      unsafe linkat(AT_FDCWD, source, descriptor, file.name, AT_SYMLINK_FOLLOW) == 0
        || errno == EEXIST
    else { throw CrashReportDatabaseError(systemCall: "making \(file.path)", errno: errno) }
  }

  /// Removes a file; it is not an error if the file is missing.
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
    /// No file has the old name, because another process renamed or removed the file first.
    case sourceMissing
    /// Another file already has the new name, and `replacing` is false.
    case targetExists
  }

  /// Renames a file, optionally into another directory of the same file system.
  ///
  /// - Parameter replacing: true to replace an existing file with the new name; the rename is then atomic. If
  ///   `replacing` is false, the file has both names for a moment. On a file system without hard links, the rename
  ///   may instead overwrite a file that another process creates with the new name at the same time.
  package func rename(
    _ name: String, to directory: borrowing Directory, _ newName: String, replacing: Bool
  ) throws(CrashReportDatabaseError) -> RenameResult {
    if !replacing {
      // If a file already has the new name, rename(2) would replace this file, but link(2) fails.
      if unsafe linkat(descriptor, name, directory.descriptor, newName, 0) == 0 {
        try? remove(name)
        return .done
      }
      // After other errors, the file is renamed instead: file systems without hard links return EPERM, ENOTSUP, ENOSYS
      // or, between directories, EXDEV.
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

  /// Writes a small file atomically: after a failure or a power cut, the file is either complete or as it was before.
  ///
  /// - Parameters:
  ///   - workshop: a directory on the same file system, where the contents are first written to a temporary file.
  ///   - replacing: true if an existing file with that name may be replaced.
  ///   - synchronizing: false if this function need not synchronize this directory, because the caller will.
  /// - Returns: false if the file exists and `replacing` is false.
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
