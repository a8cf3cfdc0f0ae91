internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// The owner of a database, if this process is root and the owner is another user.
///
/// Root's files in a user's database would lock the user out, and files that a user's dump names (attachments, modules)
/// must not be opened with root's permissions. So root uses the database with the owner's permissions (`run`).
package struct DatabaseOwner: Sendable, Equatable {
  package let user: UInt32
  /// The user's primary group or, if the system does not know the user, the directory's group.
  package let group: UInt32
  /// All groups of the user, including the primary group.
  package let groups: [UInt32]

  /// The maximum number of groups that are read.
  private static let maximumGroups = 1024
  /// The user ID that stands for users outside a user namespace.
  private static let unmapped: UInt32 = 65534

  /// The owner of a directory; nil if this process already has the owner's permissions, is not root, or the path does
  /// not lead to a directory.
  ///
  /// - Throws: if the status of the directory cannot be read for a temporary reason.
  package init?(of path: String) throws(CrashReportDatabaseError) {
    var status = stat()
    guard geteuid() == 0, pm_file_user() == 0 else { return nil }
    guard unsafe stat(path, &status) == 0 else {
      guard SystemRefusals.isPassing(errno) else { return nil }
      throw CrashReportDatabaseError(systemCall: "looking at \(path)", errno: errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid != 0
    else { return nil }
    self.init(user: status.st_uid, group: status.st_gid)
  }

  /// - Parameter group: the group to use if the system does not know the user.
  package init(user: UInt32, group: UInt32) {
    var primary = group
    var groups = [UInt32](repeating: 0, count: Self.maximumGroups)
    let count = unsafe pm_groups_of(user, &primary, &groups, groups.count)
    self.user = user
    self.group = primary
    self.groups = Array(groups.prefix(count))
  }

  /// Runs a closure on a separate thread with this user's file permissions, and waits for it.
  ///
  /// A child process cannot be used, because the child of a process with threads may call only async-signal-safe
  /// functions. The thread blocks the program's signals, because their handlers would run with the wrong permissions.
  ///
  /// - Throws: `CrashReportDatabaseError` if root is not allowed to take the user's permissions, as in a container
  ///   without CAP_SETUID, or if a thread cannot be created. In both cases, the closure is not run.
  package func run<Value>(_ body: () -> Value) throws(CrashReportDatabaseError) -> Value {
    try WorkThread.run {
      takeRights().map(Result<Value, CrashReportDatabaseError>.failure) ?? .success(body())
    }.get()
  }

  private func takeRights() -> CrashReportDatabaseError? {
    let failure = unsafe pm_take_file_rights(user, group, groups, groups.count)
    if failure == 0 { return nil }
    // The user is outside this user namespace, so no process here can have this user's permissions. Root then keeps its
    // own permissions.
    if user == Self.unmapped, pm_file_user() == 0 { return nil }
    return CrashReportDatabaseError(
      .foreignOwner,
      "the database belongs to user \(user), whose rights this process cannot assume; run it as that "
        + "user", errno: Int32(truncatingIfNeeded: -failure))
  }
}
