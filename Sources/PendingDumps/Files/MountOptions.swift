/// The mount options that give files their owner and mode, on file systems that keep none of their own.
enum MountOptions {
  /// The remedy for a directory that others may write to, on the file system of that name; nil where
  /// chmod(1) is one.
  ///
  /// Source: mount.cifs(8), mount(8), ntfs-3g(8), mount.fuse3(8), Linux Documentation/filesystems/vboxsf.rst.
  static func forMode(_ type: String) -> String? {
    switch type {
    case "cifs", "smb3", "smbfs": "dir_mode=0700,file_mode=0600"
    case "vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "vboxsf": "dmask=0077,fmask=0177"
    case "hfs", "hfsplus": "umask=0077"
    default: type == "fuse" || type.hasPrefix("fuse.") ? "umask=0077" : nil
    }
  }

  /// The same for one that belongs to another user; nil where chown(1) is one.
  static func forOwner(_ type: String, user: UInt32) -> String? {
    forMode(type).map { _ in "uid=\(user)" }
  }
}
