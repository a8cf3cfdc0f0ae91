import Testing

@testable import PendingDumps

/// Mount options are recommended only on file systems without modes, where chmod(1) does not help.
@Suite struct MountOptionsTests {
  @Test func theyAreNamedWhereModesCannotBeChanged() {
    #expect(MountOptions.forMode("cifs") == "dir_mode=0700,file_mode=0600")
    #expect(MountOptions.forMode("smb3") == MountOptions.forMode("cifs"))
    for type in ["vfat", "exfat", "ntfs3", "fuseblk"] {
      #expect(MountOptions.forMode(type) == "dmask=0077,fmask=0177")
    }
    #expect(MountOptions.forMode("fuse.rclone") == "umask=0077")
    #expect(MountOptions.forOwner("cifs", user: 1000) == "uid=1000")
    for type in ["ext4", "tmpfs", "nfs4", "overlay", "9p", "fusectl"] {
      #expect(MountOptions.forMode(type) == nil && MountOptions.forOwner(type, user: 1) == nil)
    }
  }
}
