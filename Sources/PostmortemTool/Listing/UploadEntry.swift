internal import CrashReportDatabase
internal import IntermediateDump

/// The state of a report's upload, as `list` prints it.
struct UploadEntry: Codable {
  /// One of "pending", "uploading", "uploaded" and "skipped".
  let state: String
  let attempts: Int
  let lastAttempt: Timestamp?
  let nextAttempt: Timestamp?
  /// The time since which the server has refused the report, or all reports.
  let refusedSince: Timestamp?
  /// True if `requestUpload` was called for this report and the report was not skipped afterward.
  let requested: Bool
  /// The server's ID for the report.
  let serverID: String?
  /// For example, the reason why the last attempt failed, or why there will be no attempt; nil if there is no note.
  let note: String?

  init(_ report: StoredReport, isUploading: Bool) {
    let upload = report.upload
    state =
      if upload.isUploaded {
        "uploaded"
      } else if report.state == .completed {
        "skipped"
      } else {
        isUploading ? "uploading" : "pending"
      }
    attempts = upload.attempts
    lastAttempt = upload.lastAttemptTime
    nextAttempt = upload.nextAttemptTime
    refusedSince = upload.refusedSince
    requested = upload.isRequested
    serverID = upload.serverID.isEmpty ? nil : upload.serverID
    note = upload.note.isEmpty ? nil : upload.note
  }

  /// The last part of a report's line in a list, about the upload; empty if there is nothing to show, for example
  /// before the first attempt.
  var text: String {
    // A report that was "completed" from the beginning also has the state "skipped", but no note, because there was no
    // attempt to upload it.
    if state == "skipped", note == nil { return "" }
    var words: [String] = state == "pending" ? [] : [state]
    if let serverID { words.append("as \(serverID.escapedForMessage)") }
    if state == "pending" || state == "uploading" {
      if requested { words.append("requested") }
      if attempts > 0 { words.append("attempts: \(attempts)") }
    }
    if let nextAttempt {
      words.append("next try: \(nextAttempt.second) UTC")
    }
    if let refusedSince { words.append("refused since \(refusedSince.second) UTC") }
    if let note { words.append(note.escapedForMessage) }
    return words.isEmpty ? "" : "  " + words.joined(separator: ", ")
  }
}
