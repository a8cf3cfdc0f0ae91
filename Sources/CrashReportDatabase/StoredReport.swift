public import IntermediateDump

/// A report as it lies in the database.
public struct StoredReport: Sendable, Equatable, CustomStringConvertible {
  /// The state of a report, and the name of its directory.
  public enum State: String, Sendable, CaseIterable {
    /// Being written, or left by a writer that died; never read.
    case new
    /// Complete, and not yet uploaded or skipped.
    case pending
    /// Uploaded, or excluded from uploads.
    case completed
  }

  public let id: ReportID
  public let state: State
  /// The minidump's path.
  public let path: String
  /// Seconds since 1970: from the metadata, or the minidump's last change where that is lost.
  public let creationTime: Int64
  /// The minidump's size in bytes.
  public let size: Int64
  /// The state of its upload.
  public let upload: ReportUpload

  public var description: String { "\(id) \(state.rawValue) \(size) bytes \(path)" }

  /// The name of a report's minidump.
  static func fileName(_ id: ReportID) -> String { "\(id).dmp" }

  /// The name of a report's metadata.
  static func metadataName(_ id: ReportID) -> String { "\(id).meta" }

  /// The report of a minidump's name; nil for every other name.
  static func id(fileName: String) -> ReportID? {
    guard let id = id(stem: fileName), Self.fileName(id) == fileName else { return nil }
    return id
  }

  /// The report of a metadata file's name; nil for every other name.
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

/// The state of a report's upload, from its metadata.
public struct ReportUpload: Sendable, Equatable {
  /// The number of uploads that were begun.
  public let attempts: Int
  /// Seconds since 1970; nil if never.
  public let lastAttemptTime: Int64?
  /// The time of the next attempt in seconds since 1970; nil for at once.
  public let nextAttemptTime: Int64?
  /// True after `requestUpload`, which ignores the database's settings.
  public let isRequested: Bool
  /// True once the server has it.
  public let isUploaded: Bool
  /// The server's name for it; empty where the server gave none.
  public let serverID: String
  /// The outcome of the last attempt, or why there will be none; empty for none.
  public let note: String

  /// - Parameter metadata: nil where it is missing or damaged, as if nothing was tried.
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
