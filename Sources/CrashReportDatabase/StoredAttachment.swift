internal import Glibc
public import IntermediateDump

/// A file that was copied into the database with a report, such as a log.
public struct StoredAttachment: Sendable, Equatable, CustomStringConvertible {
  /// Its name beside the report: 1 to 100 of `[A-Za-z0-9._-]`, the first one no dot.
  public let name: String
  public let path: String
  /// In bytes.
  public let size: Int64

  public var description: String { "\(name) \(size) bytes \(path)" }

  /// The longest name, in characters.
  static let maximumNameCount = 100

  /// Whether a name is one that a copy may have; files of other names are not listed.
  ///
  /// Source: Crashpad `client/crash_report_database.cc`, AttachmentNameIsOK.
  static func isSafe(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= maximumNameCount && !name.hasPrefix(".")
      && name.unicodeScalars.allSatisfy(isSafe)
  }

  private static func isSafe(_ character: Unicode.Scalar) -> Bool {
    switch character {
    case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-": true
    default: false
    }
  }

  /// The names that files get beside a report, in their order: each path's last part with what is
  /// not safe replaced, and a number in front where another one has that name already.
  package static func names(for paths: [String]) -> [String] {
    var used: Set<String> = []
    return paths.map { path in
      let base = path.split(separator: "/").last ?? ""
      var safe = String(base.unicodeScalars.map { isSafe($0) ? Character($0) : "_" })
      if safe.isEmpty || safe.hasPrefix(".") { safe = "_" + safe }
      // The end, which tells the kind of file; with room for a number.
      safe = String(safe.suffix(maximumNameCount - 8))
      if safe.hasPrefix(".") { safe = "_" + safe }
      var name = safe
      var number = 2
      while !used.insert(name).inserted {
        name = "\(number)-\(safe)"
        number += 1
      }
      return name
    }
  }
}

extension CrashReportDatabase {
  /// The files that were copied into the database with a report, by name.
  ///
  /// They go when the report is deleted or pruned, and count for its size there.
  ///
  /// - Returns: nothing where the report has none or is not there.
  /// - Throws: `CrashReportDatabaseError` where the folder cannot be read.
  public func attachments(
    of id: ReportID
  ) throws(CrashReportDatabaseError) -> [StoredAttachment] {
    let all = try open().subfolder(Self.attachmentsFolder)
    guard all.status(of: id.description)?.kind == .directory else { return [] }
    let folder = try all.subfolder(id.description)
    var found: [StoredAttachment] = []
    for name in try folder.names() where StoredAttachment.isSafe(name) {
      guard let status = folder.status(of: name), status.kind == .regular else { continue }
      found.append(
        StoredAttachment(name: name, path: "\(folder.path)/\(name)", size: status.size))
    }
    return found.sorted { $0.name < $1.name }
  }
}

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
