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
