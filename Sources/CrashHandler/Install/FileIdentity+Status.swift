internal import PendingDumps

extension FileIdentity {
  init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
  }
}
