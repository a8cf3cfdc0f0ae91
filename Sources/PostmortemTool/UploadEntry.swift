internal import CrashReport
internal import CrashReportDatabase
internal import Foundation

/// What is known of a report's upload, as list prints it.
struct UploadEntry: Codable {
  /// "pending", "uploading", "uploaded" or "skipped".
  let state: String
  let attempts: Int
  let lastAttempt: Timestamp?
  let nextAttempt: Timestamp?
  /// True if somebody has asked for it.
  let requested: Bool
  /// What the server called it.
  let serverID: String?
  /// What the last attempt came to, or why there will be none.
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
    lastAttempt = upload.lastAttemptTime.map(Timestamp.init(seconds:))
    nextAttempt = upload.nextAttemptTime.map(Timestamp.init(seconds:))
    requested = upload.isRequested
    serverID = upload.serverID.isEmpty ? nil : upload.serverID
    note = upload.note.isEmpty ? nil : upload.note
  }

  /// For the end of a line; empty for a report with which nothing was done.
  var text: String {
    // Nothing was tried with a report that was completed as it was made.
    if state == "skipped", note == nil { return "" }
    var words: [String] = state == "pending" ? [] : [state]
    if let serverID { words.append("as \(serverID.escapedForMessage)") }
    if state == "pending" || state == "uploading" {
      if requested { words.append("requested") }
      if attempts > 0 { words.append("attempts: \(attempts)") }
    }
    if let nextAttempt {
      let time = nextAttempt.description.prefix(19).replacing("T", with: " ")
      words.append("next try: \(time) UTC")
    }
    if let note { words.append(note.escapedForMessage) }
    return words.isEmpty ? "" : "  " + words.joined(separator: ", ")
  }
}

extension Timestamp {
  /// Seconds since 1970; what does not fit is the epoch.
  init(seconds: Int64) {
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    self.init(nanoseconds: overflow ? 0 : nanoseconds)
  }
}
