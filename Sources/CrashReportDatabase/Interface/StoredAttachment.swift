/// A file that was copied into the database with a report, such as a log.
public struct StoredAttachment: Sendable, Equatable, CustomStringConvertible {
  /// The file's name in the database: 1 to 100 characters of `[A-Za-z0-9._-]`, not beginning with a dot.
  public let name: String
  public let path: String
  /// The size in bytes.
  public let size: Int64

  public var description: String { "\(name) \(size) bytes \(path)" }

  /// The maximum number of characters in the name of an attachment's copy.
  static let maximumNameCount = 100

  /// True for a name that the copy of an attachment may have; files of other names are not listed.
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

  /// Returns a name for the copy of each file, in the order of `paths`.
  ///
  /// Each name is the last part of the path, with unsafe characters replaced; a long name is cut at its beginning. If
  /// the name is already taken, because an earlier path has the same last part, a number precedes it.
  package static func names(for paths: [String]) -> [String] {
    var used: Set<String> = []
    return paths.map { path in
      let base = path.split(separator: "/").last ?? ""
      var safe = String(base.unicodeScalars.map { isSafe($0) ? Character($0) : "_" })
      if safe.isEmpty || safe.hasPrefix(".") { safe = "_" + safe }
      // The end of the name is kept, because it contains the file's extension. Room is left for the number that
      // distinguishes equal names.
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
