public import IntermediateDump

/// A report as it lies in the database.
public struct StoredReport: Sendable, Equatable, CustomStringConvertible {
  /// Where a report is on its way; the folder it lies in.
  public enum State: String, Sendable, CaseIterable {
    /// Being written, or left by a writer that died; never to be read.
    case new
    /// Complete, and not yet uploaded or skipped.
    case pending
    /// Uploaded, or never to be.
    case completed
  }

  public let id: ReportID
  public let state: State
  /// The minidump's path.
  public let path: String
  /// Seconds since 1970: as the metadata says, or the minidump's last change where that is lost.
  public let creationTime: Int64
  /// The minidump's size in bytes.
  public let size: Int64
  /// What is known of its upload.
  public let upload: ReportUpload

  public var description: String { "\(id) \(state.rawValue) \(size) bytes \(path)" }

  /// The name of a report's minidump.
  static func fileName(_ id: ReportID) -> String { "\(id).dmp" }

  /// The name of a report's metadata.
  static func metadataName(_ id: ReportID) -> String { "\(id).meta" }

  /// The report that a file name stands for; nil for every name that is not exactly a minidump's.
  static func id(fileName: String) -> ReportID? {
    guard let id = id(stem: fileName), Self.fileName(id) == fileName else { return nil }
    return id
  }

  /// The report whose metadata has a name; nil for every other name.
  static func id(metadataName: String) -> ReportID? {
    guard let id = id(stem: metadataName), Self.metadataName(id) == metadataName else {
      return nil
    }
    return id
  }

  private static func id(stem name: String) -> ReportID? {
    name.split(separator: ".").first.flatMap { ReportID(String($0)) }
  }
}

/// What is known of a report's upload, from its metadata.
public struct ReportUpload: Sendable, Equatable {
  /// How often it was begun.
  public let attempts: Int
  /// Seconds since 1970; nil if never.
  public let lastAttemptTime: Int64?
  /// Seconds since 1970 before which it is not tried again; nil for at once.
  public let nextAttemptTime: Int64?
  /// True if somebody has asked for this report, whatever the database's settings say.
  public let isRequested: Bool
  /// True once the server has it.
  public let isUploaded: Bool
  /// What the server called it; empty where it said nothing.
  public let serverID: String
  /// What the last attempt came to, or why there will be none; empty where nothing is to be said.
  public let note: String

  /// - Parameter metadata: nil where it is missing or damaged, which says that nothing was tried.
  init(_ metadata: ReportMetadata?) {
    attempts = Int(metadata?.uploadAttempts ?? 0)
    lastAttemptTime = metadata.flatMap {
      $0.lastUploadAttemptTime > 0 ? $0.lastUploadAttemptTime : nil
    }
    nextAttemptTime = metadata.flatMap {
      $0.nextUploadAttemptTime > 0 ? $0.nextUploadAttemptTime : nil
    }
    isRequested = metadata?.attributes.contains(.uploadExplicitlyRequested) ?? false
    isUploaded = metadata?.attributes.contains(.uploaded) ?? false
    serverID = metadata?.serverID ?? ""
    note = metadata?.uploadNote ?? ""
  }
}
