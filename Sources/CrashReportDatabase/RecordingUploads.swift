internal import Glibc
public import IntermediateDump

extension CrashReportDatabase {
  /// Asks for the upload of one report, whether uploads are enabled or not, and at once.
  ///
  /// A skipped report becomes pending again. It goes when an uploader is at work in any process of
  /// the database.
  ///
  /// - Returns: false if the database has no such report, or the server has it already.
  /// - Throws: `CrashReportDatabaseError` where the system refuses.
  ///
  /// Source: Crashpad `client/crash_report_database_generic.cc`, RequestUpload.
  @discardableResult
  public func requestUpload(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    guard let report = try report(id), report.state != .new, !report.upload.isUploaded else {
      return false
    }
    return try move(id, from: report.state, to: .pending) { metadata in
      metadata.attributes.insert(.uploadExplicitlyRequested)
      metadata.nextUploadAttemptTime = 0
    }
  }

  /// Notes that an upload begins, durably, before the first byte goes out.
  package func beginUpload(_ id: ReportID, at time: Int64) throws(CrashReportDatabaseError) {
    try recordUploadAttempt(at: time)
    try change(id) { metadata in
      metadata.uploadAttempts = metadata.uploadAttempts.clampedAdding(1)
      metadata.lastUploadAttemptTime = time
    }
  }

  /// Keeps a pending report back until a time, and says why.
  package func delayUpload(
    _ id: ReportID, until time: Int64, because note: String
  ) throws(CrashReportDatabaseError) {
    try change(id) { metadata in
      metadata.nextUploadAttemptTime = time
      metadata.uploadNote = note
    }
  }

  /// Completes a report that the server has.
  package func completeUpload(
    _ id: ReportID, serverID: String
  ) throws(CrashReportDatabaseError) {
    // First said where the report lies: whoever finds it there pending only has to move it.
    try change(id) { metadata in
      metadata.attributes.insert(.uploaded)
      metadata.serverID = serverID
      metadata.nextUploadAttemptTime = 0
      metadata.uploadNote = ""
    }
    try finishUpload(id)
  }

  /// Moves a pending report of which its metadata says that the server has it.
  package func finishUpload(_ id: ReportID) throws(CrashReportDatabaseError) {
    try move(id, from: .pending, to: .completed) { _ in }
  }

  /// Completes a report that is not to be uploaded, and keeps the reason.
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

  /// Changes a report's metadata, and the folder it lies in if wanted.
  ///
  /// The metadata goes first, then the minidump, then the old metadata, so that the minidump has its
  /// metadata wherever a process dies; metadata alone is nothing, and goes with a later prune.
  ///
  /// - Returns: false if there is no such report in that state.
  @discardableResult
  private func move(
    _ id: ReportID, from state: StoredReport.State, to newState: StoredReport.State,
    _ body: (inout ReportMetadata) -> Void
  ) throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    let old = try database.subfolder(state.rawValue)
    let new = try database.subfolder(newState.rawValue)
    let workshop = try database.subfolder(StoredReport.State.new.rawValue)
    let name = StoredReport.fileName(id)
    guard let status = old.status(of: name), status.kind == .regular else { return false }
    var metadata =
      old.metadata(of: id)
      ?? ReportMetadata(creationTime: status.modificationTime / 1_000_000_000)
    body(&metadata)
    let metadataName = StoredReport.metadataName(id)
    _ = try new.put(metadata.bytes, as: metadataName, by: workshop, replacing: true)
    guard newState != state else { return true }
    // One step: a report with two names for a moment could be left so.
    guard try old.rename(name, to: new, name, replacing: true) == .done else { return false }
    try old.remove(metadataName)
    try new.synchronize()
    try old.synchronize()
    return true
  }
}

extension Folder {
  /// What the file beside a report says; nil where it is missing or damaged.
  func metadata(of id: ReportID) -> ReportMetadata? {
    let bytes = try? contents(
      of: StoredReport.metadataName(id), limit: ReportMetadata.maximumFileSize)
    return bytes.flatMap(ReportMetadata.init(bytes:))
  }
}
