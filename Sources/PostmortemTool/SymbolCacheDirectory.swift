internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc
internal import Stackwalk

/// The symbol cache of this user: a directory of small files, from which the oldest files are removed if all files
/// together are too large.
///
/// The cache is used only if this user owns the directory and its parent, no other user has access to the directory,
/// and no other user can write to the parent.
final class SymbolCacheDirectory: SymbolStore {
  /// The environment variable that turns the cache off, whatever its value is.
  static let variable = "POSTMORTEM_NO_SYMBOL_CACHE"
  private static let maximumFileSize = 4 << 20
  private let maximumSize: Int64

  private let directory: Directory

  /// Opens the directory; creates it, accessible only by this user, if it is missing.
  ///
  /// - Parameters:
  ///   - environment: the environment, whose `XDG_CACHE_HOME` is the parent directory; without this variable, the
  ///     parent directory is `.cache` in `HOME`.
  ///   - maximumSize: the maximum number of bytes of all files.
  /// - Returns: nil if the cache is turned off or cannot be created, if the directory or its parent does not meet the
  ///   conditions above, or if this program is set-user-ID or set-group-ID.
  init?(
    environment: [String: String] = ProcessInfo.processInfo.environment,
    maximumSize: Int64 = 64 << 20
  ) {
    // A program with permissions that its user does not have must not trust the environment.
    guard environment[Self.variable] == nil, geteuid() == getuid(), getegid() == getgid() else {
      return nil
    }
    let caches: String
    if let given = environment["XDG_CACHE_HOME"], given.hasPrefix("/") {
      caches = given
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      caches = home + "/.cache"
      if Self.isOwn(home) { _ = unsafe mkdir(caches, 0o700) }
    } else {
      return nil
    }
    guard Self.isOwn(caches), let parent = try? Directory(path: caches),
      let directory = try? parent.subdirectory("postmortem", create: true),
      Self.isOwn(directory.descriptor, mask: 0o077)
    else { return nil }
    self.directory = directory
    self.maximumSize = maximumSize
  }

  private static func isOwn(_ path: String) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return isOwn(descriptor, mask: 0o022)
  }

  /// True if this user owns a directory and no other user has any of the permissions in a mask.
  private static func isOwn(_ descriptor: Int32, mask: UInt32) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_uid == geteuid()
      && status.st_mode & mask == 0
  }

  func contents(of name: String) -> [UInt8]? {
    // An error is ignored, because symbols that the cache does not contain are computed again.
    (try? directory.smallFile(name, limit: Self.maximumFileSize)) ?? nil
  }

  func replace(_ name: String, with bytes: [UInt8]) {
    guard bytes.count <= Self.maximumFileSize, let file = try? directory.createTemporary(name)
    else { return }
    do {
      // The file is not synchronized to disk. If a power failure damages the file, the next reader finds that the
      // file's digest is wrong, and the file is made again.
      try file.write(bytes)
      _ = try directory.rename(file.name, to: directory, name, replacing: true)
      removeOldest()
    } catch {
      try? directory.remove(file.name)
    }
  }

  /// Removes the oldest files until the rest is small enough; a file that another process has removed in the meantime
  /// counts as removed.
  private func removeOldest() {
    var files = ((try? directory.names()) ?? []).compactMap { name in
      (try? directory.status(of: name)).map { (name: name, status: $0) }
    }
    var total = files.reduce(Int64(0)) { $0 &+ $1.status.size }
    guard total > maximumSize else { return }
    files.sort { $0.status.modificationTime < $1.status.modificationTime }
    for (name, status) in files where total > maximumSize {
      try? directory.remove(name)
      total &-= status.size
    }
  }
}
