internal import Glibc

/// Finds the program's own files on which this process holds kernel locks.
///
/// The files are data files of the program, and not dumps with the suffix `.locked`. The report of a killed run lists
/// these files, because a process that waited for one of the locks may have killed this process.
///
/// The locks are read from `fdinfo` of each descriptor. The file `/proc/locks` lists all locks, but while the kernel
/// writes its text, no process on the machine can lock or unlock a file. Before it writes the text, the kernel waits
/// some milliseconds for processes that are locking or unlocking files.
///
/// This type is only for ordinary code, not for signal handlers. Source: proc_pid_fdinfo(5); Linux fs/locks.c,
/// `locks_start`.
package enum LockedFiles {
  /// The maximum numbers of descriptors that are examined and of paths that are returned.
  static let descriptorLimit = 256
  static let pathLimit = 8

  /// The paths of the locked files, except those that cannot be found.
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
