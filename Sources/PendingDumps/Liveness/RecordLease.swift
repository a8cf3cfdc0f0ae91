internal import CSignalSafe
internal import Glibc

/// Asks the kernel whether any process has a run record open, or mapped, for writing.
///
/// A mapping of the record counts even after its descriptor was closed. `probe` requests a read lease, which the kernel
/// refuses while any process has the file open, or mapped, for writing. A lease that the kernel grants is released
/// immediately. The request cannot disturb a running owner, because the kernel grants no lease while the owner maps its
/// record.
///
/// Signal handlers must not use this type. Source: fcntl(2), F_SETLEASE.
package enum RecordLease: Sendable, Equatable {
  /// A process has the record open for writing, or maps it for writing.
  case refused
  /// No process has the record open for writing, or maps it for writing.
  case granted
  /// Not known, because the file cannot be opened, the kernel refuses a lease for another reason, or the server of a
  /// network file system decides about leases.
  case unknown

  // These constants are those of <fcntl.h> with _GNU_SOURCE.
  private static let setSignal: Int32 = 10  // F_SETSIG
  private static let setLease: Int32 = 1024  // F_SETLEASE

  /// Finds out whether the kernel grants a lease on a file, and releases a granted lease.
  ///
  /// - Parameters:
  ///   - name: the name of a regular file; the result is `unknown` for any other file.
  ///   - directory: the descriptor of the file's directory, or AT_FDCWD for a path.
  package static func probe(_ name: String, in directory: Int32) -> RecordLease {
    let descriptor = unsafe openat(
      directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return .unknown }
    // If the kernel grants the lease, closing the descriptor releases it.
    defer { close(descriptor) }
    // No check of the file's kind is needed: the kernel refuses a lease on a file that is not regular with EINVAL.
    guard !isServersToGrant(descriptor) else { return .unknown }
    // If another process opens the file for writing while this process holds the lease, the kernel sends this process
    // a signal. The signal is set to SIGURG, which is ignored by default; the kernel's default, SIGIO, would end the
    // process.
    guard fcntl(descriptor, setSignal, SIGURG) == 0 else { return .unknown }
    if fcntl(descriptor, setLease, Int32(F_RDLCK)) == 0 {
      _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
      return .granted
    }
    // For a file that is not regular, the error is never EAGAIN, so the result is `unknown`.
    return errno == EAGAIN ? .refused : .unknown
  }

  /// True for a file on NFS or SMB.
  ///
  /// On these file systems, the kernel also refuses a lease if the server has granted no delegation, so a refusal
  /// proves nothing.
  ///
  /// Source: statfs(2), f_type; Linux fs/nfs/nfs4proc.c, nfs4_proc_setlease; fs/smb/client/cifsfs.c, cifs_setlease.
  private static func isServersToGrant(_ descriptor: Int32) -> Bool {
    [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42].contains(pm_file_system(descriptor))
  }
}
