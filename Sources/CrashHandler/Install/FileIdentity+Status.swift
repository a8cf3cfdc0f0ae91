internal import PendingDumps

extension FileIdentity {
  init(_ status: FileStatus) { self.init(device: status.device, inode: status.inode) }
}
