internal import Glibc
package import IntermediateDump

extension CrashReportDatabase {
  /// What became of a file that was to be copied.
  package struct AttachmentCopy: Sendable, Equatable {
    /// Bytes that were copied, and those before them that were left out.
    package let size: Int64
    package let bytesOmitted: Int64
  }

  /// Copies a file beside a report, which need not be there yet; its end where it is too long.
  ///
  /// The copy is there whole or not at all, a power cut included. Copies of reports that never come
  /// are removed by `prune`.
  ///
  /// - Parameters:
  ///   - path: absolute. The last part may not be a symbolic link: the program has named a file,
  ///     not whatever somebody puts in its place.
  ///   - name: one that `StoredAttachment.names` gave.
  ///   - limit: the most bytes; of a longer file the last ones, where a log tells of the crash.
  package func attach(
    _ path: String, as name: String, to id: ReportID, limit: Int64
  ) throws(CrashReportDatabaseError) -> AttachmentCopy {
    guard StoredAttachment.isSafe(name) else {
      throw CrashReportDatabaseError(.invalidPath, "'\(name)' as the name of an attachment")
    }
    let source = try Self.openSource(path)
    let all = try open().subfolder(Self.attachmentsFolder)
    let folder = try all.subfolder(id.description, create: true)
    // A dot: such a file is not listed, and goes with the folder.
    let temporaryName = ".\(name).\(UInt64.random(in: .min ... .max)).tmp"
    guard let file = try folder.create(temporaryName) else {
      throw CrashReportDatabaseError(
        systemCall: "making \(folder.path)/\(temporaryName)", errno: EEXIST)
    }
    do throws(CrashReportDatabaseError) {
      let copy = try Self.copy(source, to: file, limit: max(0, limit))
      try file.synchronize()
      _ = try folder.rename(temporaryName, to: folder, name, replacing: true)
      try folder.synchronize()
      try all.synchronize()
      return copy
    } catch {
      try? folder.remove(temporaryName)
      throw error
    }
  }

  private static func openSource(_ path: String) throws(CrashReportDatabaseError) -> OpenFile {
    guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0),
      let slash = path.lastIndex(of: "/")
    else {
      throw CrashReportDatabaseError(.invalidPath, "'\(path)' is not the absolute path of a file")
    }
    let folder = try Folder(path: slash == path.startIndex ? "/" : String(path[..<slash]))
    return try folder.open(String(path[path.index(after: slash)...]))
  }

  private static func copy(
    _ source: borrowing OpenFile, to file: borrowing OpenFile, limit: Int64
  ) throws(CrashReportDatabaseError) -> AttachmentCopy {
    // The size now: a log that grows meanwhile is not followed.
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
