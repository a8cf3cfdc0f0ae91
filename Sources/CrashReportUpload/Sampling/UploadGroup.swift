internal import CrashReportDatabase
internal import IntermediateDump

/// The reports that one upload counts for.
///
/// They are chosen, and recorded with each report, before the upload begins. So an upload that is repeated after a
/// lost answer has the same ID and count, and a killed uploader loses no report.
struct UploadGroup: Sendable, Equatable {
  /// More wait for the next upload of the signature.
  static let maximumCount = 10_000

  /// Nil if the index has lost it.
  let signature: String?
  /// At least 1.
  let count: Int
  /// The reason why the minidump is not sent; nil for a whole report.
  let omission: String?

  /// Form fields, which no review and no annotation changes.
  var fields: [String: String] {
    var fields = ["report_count": "\(count)"]
    fields["report_signature"] = signature
    fields["minidump_left_out"] = omission
    return fields
  }

  static func omission(_ sampling: UploadSampling?) -> String {
    guard let sampling else { return "counted with others of its signature" }
    return "\(sampling.wholeReports) reports of a signature are sent whole in "
      + "\(sampling.window.wholeSeconds) s"
  }
}

extension UploadEngine {
  /// Decides which reports an upload counts for; nil for the report alone, without a count.
  func group(of report: StoredReport) throws(CrashReportDatabaseError) -> UploadGroup? {
    let sampling = target.options.sampling
    // A request clears what a report was counted with, not what is counted with it.
    guard sampling != nil || report.upload.countedWith != nil || report.upload.isRequested
    else { return nil }
    let index = ReportIndex(in: try database.open())
    let signature = index.facts(of: report)?.signature
    let reports = try database.listing().knownReports
    // Decided by an earlier attempt, which need not have had these options.
    let decided = reports.filter {
      $0.state == .pending && $0.id != report.id && $0.upload.countedWith == report.id
    }
    if report.upload.countedWith == report.id {
      return UploadGroup(
        signature: signature, count: 1 + decided.count, omission: UploadGroup.omission(sampling))
    }
    guard decided.isEmpty, let sampling, let signature else {
      return decided.isEmpty
        ? nil : UploadGroup(signature: signature, count: 1 + decided.count, omission: nil)
    }
    let same = reports.filter { $0.id != report.id && index.facts(of: $0)?.signature == signature }
    let start = clock.now().clampedSubtracting(sampling.window.wholeSeconds)
    // Those that were begun count too: a server that refuses for a while gets no more of them after it.
    let whole = same.filter { other in
      guard other.upload.countedWith == nil, let last = other.upload.lastAttemptTime else {
        return false
      }
      return other.state == .pending
        || (other.upload.isUploaded && last.seconds > start
          // A later time comes from a wrong clock.
          && last.seconds <= clock.now().clampedAdding(UploadVerdict.longestDelay))
    }
    // A report whose upload was begun whole, or asked for, stays so.
    if report.upload.isRequested || report.upload.attempts > 0
      || whole.count < sampling.wholeReports
    {
      return UploadGroup(signature: signature, count: 1, omission: nil)
    }
    let members = same.filter {
      $0.state == .pending && $0.upload.countedWith == nil && $0.upload.attempts == 0
        && !$0.upload.isRequested
    }.prefix(UploadGroup.maximumCount - 1)
    // First the one that is sent: without it the others would be counted with none.
    try database.countUpload(report.id, with: report.id)
    for member in members { try database.countUpload(member.id, with: report.id) }
    return UploadGroup(
      signature: signature, count: 1 + members.count, omission: UploadGroup.omission(sampling))
  }

  /// Completes reports that were counted with the upload of another, according to the outcome of that upload.
  ///
  /// Only the holder of the claim may call it.
  func settleCountedReports() throws(CrashReportDatabaseError) {
    let listing = try database.listing()
    let reports = listing.knownReports
    let counted = reports.filter { $0.state == .pending && $0.isCountedWithAnother }
    guard !counted.isEmpty else { return }
    let others = Dictionary(reports.map { ($0.id, $0) }) { first, _ in first }
    for report in counted {
      // If a report cannot be read, it is unknown whether it was sent.
      guard let id = report.upload.countedWith, listing.failures[id] == nil else { continue }
      switch others[id] {
      // Deleted before it was sent.
      case nil: try database.countUpload(report.id, with: nil)
      case let other? where other.upload.isUploaded:
        try database.skipUpload(report.id, because: "counted with the upload of \(id)")
      case let other? where other.state == .completed:
        try database.skipUpload(report.id, because: "refused with \(id): \(other.upload.note)")
      default: break
      }
    }
  }

  /// The earliest time of a report's first upload, in seconds since 1970.
  ///
  /// - Parameter now: the current time. A report with a later time has a wrong time, and does not wait.
  func spreadTime(of report: StoredReport, _ now: Int64) -> Int64 {
    let spread = target.options.spread.wholeSeconds
    let creation = report.creationTime.seconds
    guard spread > 0, report.upload.attempts == 0, !report.upload.isRequested, creation <= now
    else { return 0 }
    // Random bits of the ID; its first bytes.
    let share = report.id.bytes.prefix(4).reduce(0) { $0 << 8 | Int64($1) }
    return creation.clampedAdding(Int64(clamping: (Int128(spread) * Int128(share)) >> 32))
  }
}

extension StoredReport {
  /// True if it is not sent itself.
  var isCountedWithAnother: Bool { upload.countedWith.map { $0 != id } ?? false }
}
