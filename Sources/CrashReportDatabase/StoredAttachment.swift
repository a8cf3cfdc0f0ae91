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
