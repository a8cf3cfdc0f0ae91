public import IntermediateDump

/// One step in the work of an uploader.
public struct UploadEvent: Sendable, Equatable, CustomStringConvertible {
  /// The kind of step; later versions may add kinds.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An upload begins; the event has `reportID`, `attempt` and `size`.
    public static let began = Kind(rawValue: "began")
    /// A part of the body was sent: `sent` of `size` bytes.
    ///
    /// This event occurs about once per MiB.
    public static let progressed = Kind(rawValue: "progressed")
    /// The server has the report; `serverID` is its ID for the report.
    public static let uploaded = Kind(rawValue: "uploaded")
    /// The upload failed, or the review postponed it; `reason` says why.
    ///
    /// The uploader does not try again before `nextAttemptTime`.
    public static let delayed = Kind(rawValue: "delayed")
    /// The server refused the report, or the review held it back; `reason` says why.
    ///
    /// The uploader does not try again without `requestUpload`.
    public static let skipped = Kind(rawValue: "skipped")
    /// The database, or the files of one report, could not be read or written, or uploads are not enabled, which is said
    /// once; `reason` says why.
    ///
    /// The uploader tries again.
    public static let failed = Kind(rawValue: "failed")
  }

  public let kind: Kind
  /// The report ID; nil if the event is not about one report.
  public let reportID: ReportID?
  /// The number of this attempt, from 1; nil unless the kind is `began`.
  public private(set) var attempt: Int?
  /// The number of bytes of the request's body that were sent so far; nil unless the kind is `progressed`.
  public private(set) var sent: Int64?
  /// The number of bytes of the whole request body; nil unless the kind is `began` or `progressed`.
  public private(set) var size: Int64?
  /// The server's ID for the report; empty if the server returned none, and nil unless the kind is `uploaded`.
  public private(set) var serverID: String?
  public private(set) var nextAttemptTime: Timestamp?
  /// Why the report was delayed or skipped, or why the uploader failed, as text for people; nil for other events.
  public private(set) var reason: String?

  package static func began(_ id: ReportID, attempt: Int, bytes: Int64) -> UploadEvent {
    UploadEvent(kind: .began, reportID: id, attempt: attempt, size: bytes)
  }

  package static func progressed(_ id: ReportID, sent: Int64, of size: Int64) -> UploadEvent {
    UploadEvent(kind: .progressed, reportID: id, sent: sent, size: size)
  }

  package static func uploaded(_ id: ReportID, serverID: String) -> UploadEvent {
    UploadEvent(kind: .uploaded, reportID: id, serverID: serverID)
  }

  package static func delayed(
    _ id: ReportID, until time: Timestamp, reason: String
  ) -> UploadEvent {
    UploadEvent(kind: .delayed, reportID: id, nextAttemptTime: time, reason: reason)
  }

  package static func skipped(_ id: ReportID, reason: String) -> UploadEvent {
    UploadEvent(kind: .skipped, reportID: id, reason: reason)
  }

  package static func failed(_ id: ReportID? = nil, reason: String) -> UploadEvent {
    UploadEvent(kind: .failed, reportID: id, reason: reason)
  }

  /// The event as one line for a log.
  public var description: String {
    let text =
      switch kind {
      case .began: "attempt \(attempt ?? 0), \(size ?? 0) bytes"
      case .progressed: "\(sent ?? 0) of \(size ?? 0) bytes"
      case .uploaded:
        (serverID ?? "").isEmpty ? "uploaded" : "uploaded, the server calls it \(serverID ?? "")"
      case .delayed:
        "not uploaded, and not before \(nextAttemptTime?.description ?? "?"): \(reason ?? "")"
      case .skipped: "skipped: \(reason ?? "")"
      case .failed where reportID != nil: "passed over: \(reason ?? "")"
      case .failed: "uploads are delayed: \(reason ?? "")"
      default: kind.rawValue
      }
    return (reportID.map { "\($0): " } ?? "") + text
  }
}
