internal import CrashReportDatabase
internal import IntermediateDump

/// The pending reports that an uploader has tried to send, or could not send.
struct UnsentReports {
  let count: Int
  /// The earliest time of the next attempt; nil if there is none.
  let nextAttempt: Timestamp?
  /// Why the newest of these reports was not sent, and since when the server has refused all; nil if this is not known.
  let reason: String?

  /// Returns nil if there are no such reports.
  init?(among reports: some Sequence<StoredReport>) {
    let unsent = reports.filter {
      $0.state == .pending && ($0.upload.attempts > 0 || !$0.upload.note.isEmpty)
    }
    guard !unsent.isEmpty else { return nil }
    count = unsent.count
    nextAttempt = unsent.compactMap(\.upload.nextAttemptTime).min()
    let newest = unsent.filter { !$0.upload.note.isEmpty }.max { $0.creationTime < $1.creationTime }
    let since = newest?.upload.refusedSince.map { ", since \($0.second) UTC" } ?? ""
    reason = newest.map { $0.upload.note + since }
  }
}
