internal import Glibc
internal import IntermediateDump

/// Finds the files on which this process holds kernel locks: a process that waits for one of them may
/// have killed it.
///
/// Ordinary code. Source: proc_locks(5), proc_pid_fdinfo(5).
package enum LockedFiles {
  /// Descriptors that are looked at, and paths that are kept, at most.
  static let descriptorLimit = 256
  static let pathLimit = 8

  /// Paths; what cannot be found out is left out.
  package static func current() -> [String] {
    let locks = SystemFile.text("/proc/locks") ?? ""
    let inodes = inodes(in: locks, of: getpid())
    guard !inodes.isEmpty else { return [] }
    var paths: [String] = []
    for descriptor in 0..<Int32(clamping: descriptorLimit) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, inodes.contains(UInt64(status.st_ino)),
        let text = SystemFile.text("/proc/thread-self/fdinfo/\(descriptor)"),
        text.split(separator: "\n").contains(where: { $0.hasPrefix("lock:") }),
        let target = SystemFile.target("/proc/thread-self/fd/\(descriptor)")
      else { continue }
      let path = String(decoding: target.utf8.prefix(200), as: UTF8.self)
      if paths.contains(path) { continue }
      paths.append(path)
      if paths.count == pathLimit { break }
    }
    return paths
  }

  /// The inodes of a process's locks, and of those of open files, which name no process.
  static func inodes(in text: String, of processID: Int32) -> Set<UInt64> {
    var inodes: Set<UInt64> = []
    for line in text.lazyLines {
      // "1: POSIX  ADVISORY  WRITE 4242 08:01:131 0 EOF"; "->" for one that waits.
      guard line.word(1) != "->", let owner = line.word(4),
        owner == "-1" || Int32(digits: owner) == processID, let place = line.word(5),
        let colon = place.utf8.lastIndex(of: UInt8(ascii: ":")),
        let inode = UInt64(digits: place[place.utf8.index(after: colon)...])
      else { continue }
      inodes.insert(inode)
    }
    return inodes
  }
}
