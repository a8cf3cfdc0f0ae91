/// Distinguishes local file systems, which only this machine writes to, from shared ones, which other machines may
/// write to.
package enum LocalFileSystem {
  /// The types of local file systems, as mount(8) names them.
  ///
  /// A file system of any other type counts as shared; at worst, this delays the conversion of some dumps.
  private static let types: Set<String> = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs", "tmpfs", "ramfs",
    "rootfs", "overlay", "ecryptfs",
  ]

  /// True if a directory is on a local file system; false if `/proc` does not show its type.
  package static func contains(descriptor: Int32) -> Bool {
    type(of: descriptor).map(types.contains) ?? false
  }

  /// Returns the type of an open file's file system, as mount(8) names it; nil if `/proc` does not show the type.
  package static func type(of descriptor: Int32) -> String? {
    guard let information = SystemFile.bytes("/proc/thread-self/fdinfo/\(descriptor)"),
      let mounts = SystemFile.bytes("/proc/thread-self/mountinfo", limit: 4 << 20)
    else { return nil }
    return fileSystemType(fdinfo: information, mountinfo: mounts)
  }

  /// Returns the file system type of the mount that an open file is on.
  ///
  /// The mount is found by its ID, because device numbers do not identify a Btrfs mount.
  ///
  /// Source: proc_pid_fdinfo(5), `mnt_id`; proc_pid_mountinfo(5), fields 1 and 9.
  static func fileSystemType(fdinfo: [UInt8], mountinfo: [UInt8]) -> String? {
    let lines = fdinfo.split(separator: UInt8(ascii: "\n"))
    guard let line = lines.first(where: { $0.starts(with: Array("mnt_id:".utf8)) }) else {
      return nil
    }
    let identifier = line.dropFirst(7).drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    for mount in mountinfo.split(separator: UInt8(ascii: "\n")) {
      let fields = mount.split(separator: UInt8(ascii: " "))
      guard fields.first == identifier,
        let dash = fields.firstIndex(of: [UInt8(ascii: "-")]), dash + 1 < fields.count
      else { continue }
      return String(decoding: fields[dash + 1], as: UTF8.self)
    }
    return nil
  }
}
