internal import CrashReportDatabase
internal import IntermediateDump

/// Decides which reports one upload represents: sends some reports of a signature complete, and counts the others with
/// one upload.
struct SampledUploads {
  /// The limit on complete reports of a signature; nil for no limit.
  ///
  /// Even without a limit, reports that were already counted with another report are not sent separately.
  let sampling: UploadSampling?

  private var omission: String {
    guard let sampling else { return "counted with others of its signature" }
    return "\(sampling.wholeReports) reports of a signature are sent whole in "
      + "\(sampling.window.wholeSeconds) s"
  }

  /// The reports that the upload of `report` represents; nil if the upload represents only this report, and is sent
  /// without a count.
  ///
  /// - Parameter now: the current time in seconds since 1970.
  func group(
    of report: StoredReport, in database: CrashReportDatabase, at now: Int64
  ) throws(CrashReportDatabaseError) -> UploadGroup? {
    // A request for this report's upload clears the note that says with which report this one is counted. The request
    // does not clear the notes of other reports that are counted with this report, so these are looked up below.
    guard sampling != nil || report.upload.countedWith != nil || report.upload.isRequested
    else { return nil }
    let index = ReportIndex(in: try database.open())
    let signature = index.facts(of: report)?.signature
    let reports = try database.listing().knownReports
    // `decided` contains the reports that are not sent themselves, but are counted in this report's upload. An earlier
    // attempt to upload this report, possibly with other options, has chosen them. If that attempt succeeded, these
    // reports are completed, and if this report is uploaded again, the upload contains their number again.
    let decided = reports.filter { $0.id != report.id && $0.upload.countedWith == report.id }
    if report.upload.countedWith == report.id {
      return UploadGroup(
        signature: signature, count: 1 + decided.count, omission: omission)
    }
    guard decided.isEmpty, let sampling, let signature else {
      return decided.isEmpty
        ? nil : UploadGroup(signature: signature, count: 1 + decided.count, omission: nil)
    }
    let same = reports.filter { $0.id != report.id && index.facts(of: $0)?.signature == signature }
    let start = now.clampedSubtracting(sampling.window.wholeSeconds)
    // Complete uploads that were started but have not succeeded yet count too. Otherwise, a server that refuses uploads
    // for a while would later get more complete uploads than the limit.
    let whole = same.filter { other in
      guard other.upload.countedWith == nil, let last = other.upload.lastAttemptTime else {
        return false
      }
      return other.state == .pending
        || (other.upload.isUploaded && last.seconds > start
          // A time in the far future comes from a wrong clock, so it does not count.
          && last.seconds <= now.clampedAdding(UploadVerdict.longestDelay))
    }
    // A report is sent complete if its complete upload was requested or started, or if `whole` contains fewer reports
    // than the limit.
    if report.upload.isRequested || report.upload.attempts > 0
      || whole.count < sampling.wholeReports
    {
      return UploadGroup(signature: signature, count: 1, omission: nil)
    }
    let members = same.filter {
      $0.state == .pending && $0.upload.countedWith == nil && $0.upload.attempts == 0
        && !$0.upload.isRequested
    }.prefix(UploadGroup.maximumCount - 1)
    // The note of the report that is sent is written first. If the members' notes came first and this process ended
    // before it wrote this report's note, a later upload could count this report with another report. The members would
    // then be counted with a report that is not sent.
    try database.countUpload(report.id, with: report.id)
    for member in members { try database.countUpload(member.id, with: report.id) }
    return UploadGroup(
      signature: signature, count: 1 + members.count, omission: omission)
  }

  /// Records the outcome of each upload for the reports that were counted with it.
  ///
  /// Only the holder of the uploader's claim may call this function.
  func settleCountedReports(in database: CrashReportDatabase) throws(CrashReportDatabaseError) {
    let listing = try database.listing()
    let reports = listing.knownReports
    let counted = reports.filter { $0.state == .pending && $0.isCountedWithAnother }
    guard !counted.isEmpty else { return }
    let others = Dictionary(reports.map { ($0.id, $0) }) { first, _ in first }
    for report in counted {
      // It is not known whether a report that cannot be read was sent, so the reports that are counted with it stay
      // pending.
      guard let id = report.upload.countedWith, listing.failures[id] == nil else { continue }
      switch others[id] {
      // The report with which this one is counted was deleted, so this one can be sent on its own.
      case nil: try database.countUpload(report.id, with: nil)
      case let other? where other.upload.isUploaded:
        try database.skipUpload(report.id, because: "counted with the upload of \(id)")
      case let other? where other.state == .completed:
        try database.skipUpload(report.id, because: "refused with \(id): \(other.upload.note)")
      default: break
      }
    }
  }
}

extension StoredReport {
  /// True if the report itself is not sent, but counted with another report.
  var isCountedWithAnother: Bool { upload.countedWith.map { $0 != id } ?? false }
}
