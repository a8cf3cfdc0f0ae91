/// Finds the mount options that set owner and mode on file systems that do not store them for each file.
enum MountOptions {
  /// The options that stop other users from writing, for a type of file system; nil for a type on which
  /// chmod(1) usually works.
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

  /// The option that makes `user` the owner of all files; nil for a type of file system on which chown(1)
  /// usually works.
  static func forOwner(_ type: String, user: UInt32) -> String? {
    forMode(type).map { _ in "uid=\(user)" }
  }
}
