internal import Glibc

/// Finds the program's own files on which this process holds kernel locks; not the dumps named `.locked`.
///
/// A report on a killed run shows them: a process that waited for one of them may have killed this one.
///
/// Asks each descriptor. `/proc/locks` would tell all at once, but the kernel lets no process of the
/// machine lock or unlock a file while it makes that text, and first waits milliseconds for those that do.
///
/// Ordinary code. Source: proc_pid_fdinfo(5); Linux fs/locks.c, `locks_start`.
package enum LockedFiles {
  /// Descriptors that are looked at, and paths that are kept, at most.
  static let descriptorLimit = 256
  static let pathLimit = 8

  /// Paths; what cannot be found out is left out.
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
