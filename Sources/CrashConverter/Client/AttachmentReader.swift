internal import CSignalSafe
internal import CrashReportDatabase
internal import ProcessSnapshot

/// The user whose permissions apply when files named in a dump are opened.
///
/// The owner of a dump can write any path into the dump. The converter must not copy a file that this owner may not
/// read. So if a user other than the converter's owns the dump, the converter copies none of the files that the dump
/// names. A dump that root owns may come from a program that gave up root's permissions after `startHandler`. The files
/// of such a dump are opened with the permissions of the effective user that the program had at the crash.
struct AttachmentReader {
  /// The user whose permissions apply, or nil for the converter's own user; a failure contains the reason why no file
  /// is opened.
  private let rights: Result<DatabaseOwner?, CrashReportDatabaseError>

  /// - Parameter status: the status of the open dump file.
  init(_ snapshot: ProcessSnapshot, _ status: FileStatus) {
    let converter = pm_file_user()
    guard status.owner == converter else {
      rights = Self.none(
        "the dump belongs to user \(status.owner): user \(converter) opens no files that it names")
      return
    }
    guard converter == 0 else {
      rights = .success(nil)
      return
    }
    guard let user = Self.identity("Uid:", in: snapshot.process.statusText),
      let group = Self.identity("Gid:", in: snapshot.process.statusText)
    else {
      rights = Self.none("the dump does not say as which user the process ran: root opens no files")
      return
    }
    rights = .success(user == 0 ? nil : DatabaseOwner(user: user, group: group))
  }

  private static func none(_ reason: String) -> Result<DatabaseOwner?, CrashReportDatabaseError> {
    .failure(CrashReportDatabaseError(.foreignOwner, reason))
  }

  /// The user whose permissions apply, or nil for the converter's own user.
  ///
  /// - Throws: an error with the reason, if no file may be opened.
  var user: DatabaseOwner? {
    get throws(CrashReportDatabaseError) { try rights.get() }
  }

  /// The effective user or group ID in a line of `/proc/self/status`.
  ///
  /// Source: proc_pid_status(5), `Uid` and `Gid`: the real, the effective, the saved set and the file system ID.
  private static func identity(_ label: String, in text: [UInt8]?) -> UInt32? {
    let line = text.map { String(decoding: $0, as: UTF8.self) }?.split(whereSeparator: \.isNewline)
      .first { $0.hasPrefix(label) }
    let words = line?.split(whereSeparator: \.isWhitespace) ?? []
    return words.count > 2 ? UInt32(words[2]) : nil
  }
}
