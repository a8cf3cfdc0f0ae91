internal import Glibc
public import IntermediateDump

extension CrashReportDatabase {
  /// Requests the upload of one report before the others, even if uploads are disabled.
  ///
  /// A report whose upload was skipped becomes pending again. So does a report that was uploaded without its minidump,
  /// only to count it. Any process that runs an uploader for the database can then send the complete report.
  ///
  /// - Returns: false if the database has no such report, or if the server already has the report itself and not only
  ///   its count.
  /// - Throws: `CrashReportDatabaseError` if the report cannot be read or changed.
  ///
  /// Source: Crashpad `client/crash_report_database_generic.cc`, RequestUpload.
  @discardableResult
  public func requestUpload(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    try requestUpload(id, isAgain: false)
  }

  /// Requests the upload of one report, like `requestUpload(_:)`.
  ///
  /// - Parameter isAgain: true to request it even if the server already has the report.
  @discardableResult
  package func requestUpload(
    _ id: ReportID, isAgain: Bool
  ) throws(CrashReportDatabaseError) -> Bool {
    guard let report = try report(id), report.state != .new, isAgain || !report.isUploadedWhole
    else { return false }
    return try move(id, from: report.state, to: .pending) { metadata in
      metadata.attributes.insert(.uploadExplicitlyRequested)
      metadata.attributes.remove(.uploaded)
      metadata.nextUploadAttemptTime = 0
      metadata.countedWith = nil
      metadata.reduction = .none
      metadata.forgetRefusal()
    }
  }

  /// Records the beginning of an upload on disk, before the first byte is sent.
  package func beginUpload(_ id: ReportID, at time: Int64) throws(CrashReportDatabaseError) {
    try recordUploadAttempt(at: time)
    try change(id) { metadata in
      metadata.uploadAttempts = metadata.uploadAttempts.clampedAdding(1)
      metadata.lastUploadAttemptTime = time
    }
  }

  /// Delays the upload of a pending report until a time, and records the reason.
  package func delayUpload(
    _ id: ReportID, until time: Int64, because note: String
  ) throws(CrashReportDatabaseError) {
    try change(id) { metadata in
      metadata.nextUploadAttemptTime = time
      metadata.uploadNote = note
    }
  }

  /// Delays the upload of a pending report that the server has refused since a time, and records the reason.
  ///
  /// - Parameter isOfAll: true if the refusal concerns all reports.
  package func refuseUpload(
    _ id: ReportID, since start: Int64, until time: Int64, because note: String, isOfAll: Bool
  ) throws(CrashReportDatabaseError) {
    try change(id) { metadata in
      metadata.nextUploadAttemptTime = time
      metadata.uploadNote = note
      metadata.forgetRefusal()
      metadata.refusedSince = start
      if isOfAll { metadata.attributes.insert(.refusedWithOthers) }
    }
  }

  /// Removes the record of a refusal from a pending report, which may then be sent.
  package func forgetRefusal(of id: ReportID) throws(CrashReportDatabaseError) {
    try change(id) { metadata in
      metadata.forgetRefusal()
      metadata.nextUploadAttemptTime = 0
      metadata.uploadNote = ""
    }
  }

  /// Records why a pending report is not sent, and leaves the time of the next attempt as it is.
  package func noteUpload(
    _ id: ReportID, because note: String
  ) throws(CrashReportDatabaseError) {
    try change(id) { $0.uploadNote = note }
  }

  /// Removes the mark of a crash in the uploader from a report.
  package func forgetUploaderCrash(_ id: ReportID) throws(CrashReportDatabaseError) {
    // The report may have been uploaded, and thereby completed, since it was listed.
    for state in [.pending, .completed] as [StoredReport.State] {
      try move(id, from: state, to: state) { $0.attributes.remove(.uploaderCrash) }
    }
  }

  /// Records that later uploads of a pending report leave out more of its parts, until `requestUpload` is called.
  package func reduceUpload(
    _ id: ReportID, to reduction: UploadReduction
  ) throws(CrashReportDatabaseError) {
    try change(id) { $0.reduction = reduction }
  }

  /// Marks a report as uploaded and moves it to the completed ones, because the server has it.
  package func completeUpload(
    _ id: ReportID, serverID: String
  ) throws(CrashReportDatabaseError) {
    // The upload is recorded before the move, so that a process that finds the report still pending only has to move
    // it.
    try change(id) { metadata in
      metadata.attributes.insert(.uploaded)
      metadata.serverID = serverID
      metadata.nextUploadAttemptTime = 0
      metadata.uploadNote = ""
      metadata.forgetRefusal()
    }
    try finishUpload(id)
  }

  /// Records which report's upload counts a pending report, so that the pending report is not sent itself.
  ///
  /// If `other` is the report itself, the report is sent without its minidump, only to count it. If `other` is nil, the
  /// record is removed, so the report itself is sent.
  package func countUpload(
    _ id: ReportID, with other: ReportID?
  ) throws(CrashReportDatabaseError) {
    try change(id) { $0.countedWith = other }
  }

  /// Moves a pending report to the completed ones; the upload must already be recorded.
  package func finishUpload(_ id: ReportID) throws(CrashReportDatabaseError) {
    try move(id, from: .pending, to: .completed) { _ in }
  }

  /// Moves a pending report to the completed ones without uploading it, and records the reason.
  package func skipUpload(
    _ id: ReportID, because note: String
  ) throws(CrashReportDatabaseError) {
    try move(id, from: .pending, to: .completed) { metadata in
      metadata.attributes.remove(.uploadExplicitlyRequested)
      metadata.nextUploadAttemptTime = 0
      metadata.uploadNote = note
    }
  }

  private func change(
    _ id: ReportID, _ body: (inout ReportMetadata) -> Void
  ) throws(CrashReportDatabaseError) {
    guard try move(id, from: .pending, to: .pending, body) else {
      throw CrashReportDatabaseError(.noSuchReport, "\(id) is not pending")
    }
  }

  /// Changes a report's metadata, and optionally its directory.
  ///
  /// The metadata is written first, then the minidump is moved, then the old metadata is removed. So the minidump
  /// always has metadata, even if a process ends between two steps. A later prune removes metadata without a
  /// minidump.
  ///
  /// - Returns: false if no report in `state` has this ID.
  @discardableResult
  private func move(
    _ id: ReportID, from state: StoredReport.State, to newState: StoredReport.State,
    _ body: (inout ReportMetadata) -> Void
  ) throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    let old = try database.subdirectory(state)
    let new = try database.subdirectory(newState)
    let workshop = try database.subdirectory(.new)
    let name = StoredReport.fileName(id)
    guard let status = try old.status(of: name), status.kind == .regular else { return false }
    var metadata =
      try old.metadata(of: id)
      ?? ReportMetadata(creationTime: status.modificationTime / 1_000_000_000)
    body(&metadata)
    let metadataName = StoredReport.metadataName(id)
    _ = try new.put(metadata.bytes, as: metadataName, by: workshop, replacing: true)
    guard newState != state else { return true }
    // The minidump moves in one step, because a process that ended between two steps would leave the report in both
    // states.
    guard try old.rename(name, to: new, name, replacing: true) == .done else { return false }
    try old.remove(metadataName)
    try new.synchronize()
    try old.synchronize()
    return true
  }
}

extension ReportMetadata {
  fileprivate mutating func forgetRefusal() {
    refusedSince = 0
    attributes.remove(.refusedWithOthers)
  }
}

extension Directory {
  /// The metadata of a report; nil if it is missing or damaged.
  func metadata(of id: ReportID) throws(CrashReportDatabaseError) -> ReportMetadata? {
    try smallFile(StoredReport.metadataName(id), limit: ReportMetadata.maximumFileSize)
      .flatMap(ReportMetadata.init(bytes:))
  }
}
