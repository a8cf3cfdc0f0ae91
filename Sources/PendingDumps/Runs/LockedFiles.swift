internal import Glibc

/// Finds the files on which this process holds kernel locks.
///
/// These are the program's data files, not dumps with the suffix `.locked`. The report on a killed process lists
/// them, because another process that waited for one of the locks may have killed it.
///
/// The locks are read from each descriptor's `fdinfo`. The file `/proc/locks` lists all locks, but is not used: while
/// the kernel produces its text, no process on the machine can lock or unlock a file. Before that, the read itself
/// waits some milliseconds for processes that are just then locking or unlocking files.
///
/// Signal handlers must not use this type. Source: proc_pid_fdinfo(5); Linux fs/locks.c, `locks_start`.
package enum LockedFiles {
  /// The maximum number of descriptors that are examined, and of paths that are returned.
  static let descriptorLimit = 256
  static let pathLimit = 8

  /// Returns the paths of the locked files; leaves out files whose path cannot be found.
  package static func current() -> [String] {
    var paths: [String] = []
    for descriptor in 0..<Int32(clamping: descriptorLimit) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0,
        status.st_mode & S_IFMT == S_IFREG || status.st_mode & S_IFMT == S_IFDIR,
        let text = SystemFile.text("/proc/thread-self/fdinfo/\(descriptor)", isOneRecord: true),
        text.lazyLines.contains(where: { $0.hasPrefix("lock:") }),
        let target = SystemFile.path(of: descriptor)
      else { continue }
      let path = String(decoding: target.utf8.prefix(200), as: UTF8.self)
      if paths.contains(path) { continue }
      paths.append(path)
      if paths.count == pathLimit { break }
    }
    return paths
  }
}
