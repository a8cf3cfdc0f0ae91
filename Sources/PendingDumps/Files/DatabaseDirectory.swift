internal import CSignalSafe
internal import Glibc
internal import Synchronization

/// Finds, creates, opens and checks the directories of a database.
///
/// The handler, the converter and the uploader all use this type, so that they agree on the directories. Signal
/// handlers must not use it.
package enum DatabaseDirectory {
  /// The name of the database's directory inside a mount point to which other users may write.
  package static let nameInMountPoint = "postmortem"

  private static func failure(_ action: String, _ path: String) -> CrashReportDatabaseError {
    CrashReportDatabaseError(systemCall: "\(action) \(path)", errno: errno)
  }

  // MARK: - Paths

  /// The absolute path, without trailing slashes.
  package static func absolute(_ path: String) throws(CrashReportDatabaseError) -> String {
    guard !path.isEmpty else {
      throw CrashReportDatabaseError(.invalidPath, "the database's path is empty")
    }
    guard !path.utf8.contains(0) else {
      throw CrashReportDatabaseError(.invalidPath, "the database's path has a NUL character")
    }
    var result = path
    if !path.hasPrefix("/") {
      var buffer = [CChar](repeating: 0, count: 4096)
      guard unsafe getcwd(&buffer, buffer.count) != nil else {
        throw failure("finding the current directory; give an absolute path in place of", path)
      }
      let current = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      result = String(decoding: current, as: UTF8.self) + "/" + path
    }
    // With a trailing slash, the system would follow a symbolic link before the link is checked.
    while result.utf8.count > 1, result.hasSuffix("/") { result.removeLast() }
    return result
  }

  /// Returns the path of the database: the given path or, for some mount points, a directory in the mount point.
  ///
  /// The directory in the mount point is used if all users may write to the mount point, as for a Kubernetes `emptyDir`
  /// volume, or if it belongs to root and a group that this process has not named may write to it, as for a volume with
  /// `fsGroup`. Whoever looks finds the same place.
  package static func place(_ path: String) -> String {
    var status = stat()
    guard unsafe stat(path, &status) == 0, isOpenToOthers(status) else { return path }
    let descriptor = unsafe Glibc.open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return path }
    defer { close(descriptor) }
    guard unsafe fstat(descriptor, &status) == 0, isOpenToOthers(status),
      pm_is_mount_root(descriptor) != 0
    else { return path }
    return inMountPoint(path)
  }

  private static func inMountPoint(_ path: String) -> String {
    (path == "/" ? "" : path) + "/" + nameInMountPoint
  }

  private static func isOpenToOthers(_ status: stat) -> Bool {
    status.st_mode & others != 0
      || status.st_mode & group != 0 && !isShared(status)
        && (status.st_uid == 0 || UserNamespace.isOutside(status.st_uid))
  }

  // MARK: - Opening

  /// Opens a database.
  ///
  /// - Parameters:
  ///   - path: an absolute path that `place` returned.
  ///   - creating: true to create the directory and its missing parent directories.
  package static func open(
    _ path: String, creating: Bool
  ) throws(CrashReportDatabaseError) -> Directory {
    try checked(try descriptor(of: path, creating: creating), path, creating: creating)
  }

  /// Does the same as `place` followed by `open`, but reads the directory's status only once.
  package static func openPlace(
    _ path: String, creating: Bool
  ) throws(CrashReportDatabaseError) -> Directory {
    let descriptor = try descriptor(of: path, creating: creating)
    var status = stat()
    let isSeen = unsafe fstat(descriptor, &status) == 0
    if isSeen, isOpenToOthers(status), pm_is_mount_root(descriptor) != 0 {
      close(descriptor)
      return try open(inMountPoint(path), creating: creating)
    }
    return try checked(
      descriptor, path, status: isSeen ? status : nil, creating: creating)
  }

  private static func descriptor(
    of path: String, creating: Bool
  ) throws(CrashReportDatabaseError) -> Int32 {
    do throws(CrashReportDatabaseError) {
      return try open(path, links: 8)
    } catch {
      guard creating, error.errno == ENOENT else { throw error }
      try makeDirectories(path)
      return try open(path, links: 8)
    }
  }

  /// Opens a database's subdirectory, without following a link.
  ///
  /// - Parameters:
  ///   - parent: the descriptor of the database's directory, or of a directory below it.
  ///   - path: the path that messages show.
  package static func open(
    _ name: String, in parent: Int32, path: String, creating: Bool
  ) throws(CrashReportDatabaseError) -> Directory {
    var descriptor = unsafe name.withCString { unsafe openat(parent, $0, flags | O_NOFOLLOW) }
    if descriptor < 0, errno == ENOENT, creating {
      try make(name, in: parent, path: path, owner: DirectoryOwner(of: parent))
      descriptor = unsafe openat(parent, name, flags | O_NOFOLLOW)
    }
    guard descriptor >= 0 else {
      guard errno == ENOTDIR || errno == ELOOP else { throw failure("opening the directory", path) }
      throw CrashReportDatabaseError(
        .notADirectory, "\(path) is not a directory; move it away, and a directory will be created",
        errno: errno)
    }
    return try checked(descriptor, path, database: parent, creating: creating)
  }

  /// Three bits of a directory's mode: others may write, the group may write, and new files get the directory's
  /// group.
  ///
  /// Source: inode(7).
  private static let others: UInt32 = 0o2
  private static let group: UInt32 = 0o20
  private static let setsGroup: UInt32 = 0o2000

  /// The flag O_PATH, which has this value on x86_64 and arm64.
  ///
  /// Source: open(2).
  private static let O_PATH: Int32 = 0o10_000_000

  private static let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

  /// Opens a directory by its path.
  ///
  /// If the last component is a link, it is followed only after a check that its owner is trusted. If another link
  /// then replaces the checked one, the new link is not followed.
  private static func open(_ path: String, links: Int) throws(CrashReportDatabaseError) -> Int32 {
    let descriptor = unsafe path.withCString { unsafe Glibc.open($0, flags | O_NOFOLLOW) }
    if descriptor >= 0 { return descriptor }
    guard errno == ELOOP || errno == ENOTDIR else { throw failure("opening the directory", path) }
    let link = unsafe Glibc.open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
    guard link >= 0 else { throw failure("opening the directory", path) }
    defer { close(link) }
    var status = stat()
    guard unsafe fstat(link, &status) == 0 else { throw failure("looking at", path) }
    guard status.st_mode & S_IFMT == S_IFLNK, links > 0 else {
      throw CrashReportDatabaseError(
        .notADirectory,
        "\(path) is not a directory; give a directory, or a path where one can be created",
        errno: status.st_mode & S_IFMT == S_IFLNK ? ELOOP : ENOTDIR)
    }
    guard isTrusted(status) else {
      throw foreign(status, "the symbolic link \(path)")
    }
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes { buffer in
      unsafe readlinkat(link, "", buffer.baseAddress!, buffer.count)
    }
    guard count > 0 else { throw failure("reading the symbolic link", path) }
    let target = String(decoding: buffer[..<count], as: UTF8.self)
    let parent = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    let next = target.hasPrefix("/") ? target : "\(parent)/\(target)"
    do throws(CrashReportDatabaseError) {
      return try open(try absolute(next), links: links - 1)
    } catch {
      guard error.errno == ENOENT || error.code == .notADirectory else { throw error }
      throw CrashReportDatabaseError(
        .notADirectory,
        "\(path) is a link that leads to no directory; give a directory, or a path where one can be created",
        errno: error.errno)
    }
  }

  // MARK: - Making

  /// Creates the directory and its missing parent directories, each accessible only by this user.
  private static func makeDirectories(_ path: String) throws(CrashReportDatabaseError) {
    let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    var status = stat()
    if unsafe lstat(path, &status) == 0 { return }
    let parentPath = String(path.dropLast(name.utf8.count + 1))
    var parent = unsafe Glibc.open(parentPath.isEmpty ? "/" : parentPath, O_PATH | O_CLOEXEC)
    if parent < 0, errno == ENOENT, !parentPath.isEmpty {
      try makeDirectories(parentPath)
      parent = unsafe Glibc.open(parentPath, O_PATH | O_CLOEXEC)
    }
    guard parent >= 0 else { throw failure("making the directory", path) }
    defer { close(parent) }
    try make(name, in: parent, path: path)
  }

  /// Creates a directory that only this user can access, whatever the umask is; leaves an existing directory
  /// unchanged.
  ///
  /// Mode and owner are set through a descriptor of the new directory, not by its name. Before a call that uses the
  /// name, the owner of the parent directory could replace the new directory with a link or another directory.
  ///
  /// - Parameter owner: the user to whom a directory created by root is given.
  private static func make(
    _ name: String, in parent: Int32, path: String, owner: DirectoryOwner? = nil
  ) throws(CrashReportDatabaseError) {
    guard unsafe mkdirat(parent, name, 0o700) == 0 else {
      if errno == EEXIST { return }
      throw failure("making the directory", path)
    }
    // The umask may have removed all permissions on the directory; opening it with O_PATH needs none.
    let made = unsafe openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard made >= 0 else { return }
    defer { close(made) }
    var status = stat()
    guard unsafe fstat(made, &status) == 0, status.st_uid == pm_file_user() else { return }
    // fchmod(2) does not accept a descriptor that was opened with O_PATH, so the mode is set through the descriptor's
    // link in `/proc`.
    if status.st_mode & 0o7777 != 0o700 { _ = unsafe chmod("/proc/thread-self/fd/\(made)", 0o700) }
    guard let owner else { return }
    let descriptor = unsafe openat(made, ".", flags)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    // A directory that contains files is not given to the owner: it may be a different directory, which belongs to
    // root and was moved to this name.
    if DirectoryNames.of(descriptor)?.isEmpty != false { owner.give(descriptor) }
  }

  // MARK: - Checks

  /// Returns the directory if it may be used; otherwise closes the directory and throws.
  private static func checked(
    _ descriptor: Int32, _ path: String, status known: stat? = nil, database: Int32? = nil,
    creating: Bool
  ) throws(CrashReportDatabaseError) -> Directory {
    do throws(CrashReportDatabaseError) {
      var status = known ?? stat()
      guard unsafe known != nil || fstat(descriptor, &status) == 0 else {
        throw failure("looking at", path)
      }
      if creating { share(descriptor, &status) }
      try check(status, descriptor, path, database: database)
      return Directory(descriptor: descriptor, path: path, status: status)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Throws if a user or group that this process does not trust could add or remove files in a directory.
  private static func check(
    _ status: stat, _ descriptor: Int32, _ path: String, database: Int32?
  ) throws(CrashReportDatabaseError) {
    let mode = { String(status.st_mode & 0o7777, radix: 8) }
    let remedy = { modeRemedy(descriptor, path) }
    guard status.st_mode & others == 0 else {
      throw CrashReportDatabaseError(
        .writableByOthers,
        "all users may write to the directory \(path) (mode \(mode())), and could plant or take dumps; "
          + (remedy() ?? "chmod 700 \(path), or name a directory in it, such as \(path)/crashes"))
    }
    guard status.st_mode & group == 0 || isShared(status) || isOpenToOwnGroup(status) else {
      throw CrashReportDatabaseError(
        .writableByOthers,
        "group \(status.st_gid) may write to the directory \(path) (mode \(mode())), and could remove dumps; "
          + (remedy() ?? "chmod 700 \(path)")
          + ", run as its owner, user \(status.st_uid), in that group (fsGroup, supplementalGroups), or name the "
          + "group: HandlerOptions.sharedGroup, postmortem --shared-with")
    }
    // Root may use a database of any user. `open(_:links:)` has already refused links whose owner is not trusted.
    guard !isTrusted(status), !isShared(status), geteuid() != 0 else { return }
    var above = stat()
    if let database, unsafe fstat(database, &above) == 0, above.st_uid == status.st_uid { return }
    let type = LocalFileSystem.type(of: descriptor)
    throw foreign(
      status, "the directory \(path)",
      option: type.flatMap { MountOptions.forOwner($0, user: pm_file_user()) })
  }

  /// Returns the remedy for a wrong mode on a file system that is known to keep no modes; nil for any other.
  private static func modeRemedy(_ descriptor: Int32, _ path: String) -> String? {
    guard let type = LocalFileSystem.type(of: descriptor), let option = MountOptions.forMode(type)
    else { return nil }
    return "its file system (\(type)) stores no file modes: mount it with \(option)"
  }

  /// Makes the error for an object whose owner is not trusted.
  ///
  /// - Parameter option: the mount option that would make this user the owner; nil if chown(1) can change the owner.
  private static func foreign(
    _ status: stat, _ object: String, option: String? = nil
  ) -> CrashReportDatabaseError {
    let user = pm_file_user()
    let remedy = option.map { "mount its file system with \($0)" } ?? "give it to user \(user)"
    return CrashReportDatabaseError(
      .foreignOwner,
      "\(object) belongs to user \(status.st_uid), this process is user \(user); \(remedy) or choose "
        + "another path")
  }

  /// True for an object that belongs to this user, to root, or to a user outside this user namespace.
  ///
  /// A container's volumes usually belong to root or to users of the host, who may be outside this user namespace.
  private static func isTrusted(_ status: stat) -> Bool {
    status.st_uid == 0 || status.st_uid == geteuid() || status.st_uid == pm_file_user()
      || UserNamespace.isOutside(status.st_uid)
  }

  // MARK: - Groups

  /// True for a directory that a group may write to, if only processes that this process trusts are in that group.
  ///
  /// The kubelet opens a volume to `fsGroup` at every mount, and images for OpenShift open directories to the group 0:
  /// the group is then one that this process itself is in. Members could remove files of such a directory, but could not
  /// add any: `Directory` opens only files of the directory's owner, of this user and of root. Root works in another
  /// user's directory with that user's permissions, and trusts the groups that the user trusts.
  ///
  /// Source: Kubernetes pkg/volume/volume_linux.go, SetVolumeOwnership.
  private static func isOpenToOwnGroup(_ status: stat) -> Bool {
    if geteuid() == 0, status.st_uid != 0 { return true }
    return isTrusted(status) && (status.st_gid == getegid() || ownGroups.contains(status.st_gid))
  }

  /// The supplementary groups of this process.
  private static var ownGroups: [UInt32] {
    let count = getgroups(0, nil)
    guard count > 0 else { return [] }
    var groups = [UInt32](repeating: 0, count: Int(count))
    return Array(groups.prefix(Int(max(0, unsafe getgroups(count, &groups)))))
  }

  /// True if files of other users in a directory must not be opened, because a group that shares no database may write
  /// to the directory.
  static func needsOwnFiles(in status: stat) -> Bool {
    status.st_mode & group != 0 && !isShared(status)
  }

  /// The groups whose members may write to databases, in the order in which this process named them.
  private static let groups = Mutex<[UInt32]>([])
  /// True if a group was named; most processes name none, and thus skip the lock of `groups`.
  private static let hasGroups = Atomic<Bool>(false)

  /// Lets this process use databases to which the members of a group may write.
  ///
  /// In a shared database, directories that this process creates or owns get the group and the mode 02770. Files get
  /// the mode 0660.
  package static func share(with group: UInt32) {
    groups.withLock { groups in
      groups.removeAll { $0 == group }
      groups.append(group)
    }
    hasGroups.store(true, ordering: .releasing)
  }

  private static var lastGroup: UInt32? {
    hasGroups.load(ordering: .acquiring) ? groups.withLock { $0.last } : nil
  }

  /// True for a directory that has the setgid bit, and that is writable by a group with which this process shares
  /// databases.
  private static func isShared(_ status: stat) -> Bool {
    status.st_mode & (group | setsGroup) == group | setsGroup
      && hasGroups.load(ordering: .acquiring) && groups.withLock { $0.contains(status.st_gid) }
  }

  /// Gives a directory to the shared group, if this process owns the directory and shares databases, and the directory
  /// is closed to other users.
  ///
  /// - Parameter status: the status of the directory, updated by this call.
  private static func share(_ descriptor: Int32, _ status: inout stat) {
    guard let shared = lastGroup, !isShared(status), status.st_uid == pm_file_user(),
      status.st_mode & others == 0
    else { return }
    // The group is changed first, while the old mode still keeps other users from writing. The mode is set second,
    // because changing the group clears the setgid bit.
    guard fchown(descriptor, .max, shared) == 0 else { return }
    _ = fchmod(descriptor, 0o2770)
    _ = unsafe fstat(descriptor, &status)
  }

  /// The permission bits of new files in a directory: group members get access only if the directory is shared.
  static func fileMode(in status: stat) -> UInt32 {
    isShared(status) ? 0o660 : 0o600
  }
}
