internal import Glibc
public import IntermediateDump

extension CrashReportDatabase {
  /// The files that were copied into the database with a report, by name.
  ///
  /// The files are deleted and pruned with the report, and count toward its size.
  ///
  /// - Returns: an empty array if no files are stored under this ID.
  /// - Throws: `CrashReportDatabaseError` if the attachments' directory or the status of a file cannot be read.
  public func attachments(
    of id: ReportID
  ) throws(CrashReportDatabaseError) -> [StoredAttachment] {
    let all = try open().subdirectory(Self.attachmentsDirectory)
    guard try all.status(of: id.description)?.kind == .directory else { return [] }
    let directory = try all.subdirectory(id.description)
    var found: [StoredAttachment] = []
    for name in try directory.names() where StoredAttachment.isSafe(name) {
      guard let status = try directory.status(of: name), status.kind == .regular else { continue }
      found.append(
        StoredAttachment(name: name, path: "\(directory.path)/\(name)", size: status.size))
    }
    return found.sorted { $0.name < $1.name }
  }
}

extension CrashReportDatabase {
  /// How much of a file was copied as an attachment.
  package struct AttachmentCopy: Sendable, Equatable {
    /// The number of bytes that were copied, and the number of bytes before them that were left out.
    package let size: Int64
    package let bytesOmitted: Int64
  }

  /// Copies a file as an attachment of a report; the report need not exist yet.
  ///
  /// After a power cut, the copy is either complete or missing. `prune` removes a copy that still has no report when it
  /// is three days old.
  ///
  /// - Parameters:
  ///   - path: an absolute path. The last part of the path must not be a symbolic link, because another process could
  ///     replace the link.
  ///   - name: the name of the copy, from `StoredAttachment.names(for:)`.
  ///   - limit: the maximum number of bytes. If the file is longer, its last bytes are copied, because the end of a log
  ///     usually describes the crash.
  ///   - user: the user whose permissions apply when the file is opened; nil for the permissions of this thread.
  package func attach(
    _ path: String, as name: String, to id: ReportID, limit: Int64,
    asUser user: DatabaseOwner? = nil
  ) throws(CrashReportDatabaseError) -> AttachmentCopy {
    guard StoredAttachment.isSafe(name) else {
      throw CrashReportDatabaseError(.invalidPath, "'\(name)' as the name of an attachment")
    }
    let source = try Self.openSource(path, asUser: user)
    let all = try open().subdirectory(Self.attachmentsDirectory)
    let directory = try all.subdirectory(id.description, create: true)
    // Until the copy is complete, its name begins with a dot. So a file that a killed process leaves is not
    // listed; it is removed with the directory.
    let file = try directory.createTemporary(".\(name)")
    do throws(CrashReportDatabaseError) {
      let copy = try Self.copy(source, to: file, limit: max(0, limit))
      try file.synchronize()
      _ = try directory.rename(file.name, to: directory, name, replacing: true)
      try directory.synchronize()
      try all.synchronize()
      return copy
    } catch {
      try? directory.remove(file.name)
      throw error
    }
  }

  private static func openSource(
    _ path: String, asUser user: DatabaseOwner?
  ) throws(CrashReportDatabaseError) -> OpenFile {
    guard let user else { return try openSource(path) }
    let opened = try user.run {
      Result { () throws(CrashReportDatabaseError) -> Int32 in
        let file = try openSource(path)
        let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
          throw CrashReportDatabaseError(systemCall: "opening \(path)", errno: errno)
        }
        return descriptor
      }
    }
    return OpenFile(descriptor: try opened.get(), path: path)
  }

  private static func openSource(_ path: String) throws(CrashReportDatabaseError) -> OpenFile {
    guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0),
      let slash = path.lastIndex(of: "/")
    else {
      throw CrashReportDatabaseError(.invalidPath, "'\(path)' is not the absolute path of a file")
    }
    let directory = try Directory(path: slash == path.startIndex ? "/" : String(path[..<slash]))
    return try directory.open(String(path[path.index(after: slash)...]))
  }

  private static func copy(
    _ source: borrowing OpenFile, to file: borrowing OpenFile, limit: Int64
  ) throws(CrashReportDatabaseError) -> AttachmentCopy {
    // Copies no more than the current size of the file, because copying a log that is still growing would otherwise
    // not end.
    let size = try source.status().size
    let start = max(0, size.clampedSubtracting(limit))
    var done: Int64 = 0
    while let left = Int(exactly: size &- start &- done), left > 0 {
      let piece = try source.read(at: start &+ done, count: min(left, 256 << 10))
      if piece.isEmpty { break }
      try file.write(piece)
      done &+= Int64(piece.count)
    }
    return AttachmentCopy(size: done, bytesOmitted: start)
  }
}
