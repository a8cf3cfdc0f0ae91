internal import Glibc
package import IntermediateDump

/// A report that is being written.
///
/// The report is invisible until it is finished, and is removed if it is not finished.
///
/// A process that dies before it finishes the report leaves a file in `new/`, which is never read. The first `prune`
/// after three days removes this file.
package struct NewReport: ~Copyable, Sendable {
  package let id: ReportID
  /// True if the report is about a crash in the uploader (`StoredReport.upload`).
  package var isUploaderCrash = false
  /// The descriptor of the file for the minidump, which is empty at first, and open for reading and writing.
  package var descriptor: Int32 { file.descriptor }

  /// Returns the minidump's size and time of last change; call this once the minidump is written.
  package func status() throws(CrashReportDatabaseError) -> FileStatus { try file.status() }

  private let file: OpenFile
  private let fileName: String
  private let new: Directory
  private let pending: Directory
  private let completed: Directory
  private var isFinished = false

  static func make(
    _ id: ReportID, in database: borrowing Directory
  ) throws(CrashReportDatabaseError) -> NewReport {
    let new = try database.subdirectory(.new)
    let pending = try database.subdirectory(.pending)
    let completed = try database.subdirectory(.completed)
    let name = StoredReport.fileName(id)
    guard try pending.status(of: name) == nil, try completed.status(of: name) == nil else {
      throw CrashReportDatabaseError(.reportExists, "\(id)")
    }
    // The name in `new/` is unique to this writer. So this writer renames its own file, even if other processes write
    // the same report, or ended while they were writing it.
    for attempt in 0..<1000 {
      let fileName = attempt == 0 ? name : "\(id).\(attempt).dmp"
      guard let file = try new.create(fileName) else { continue }
      return NewReport(
        id: id, file: file, fileName: fileName, new: new, pending: pending, completed: completed)
    }
    throw CrashReportDatabaseError(systemCall: "making \(new.path)/\(name)", errno: EEXIST)
  }

  deinit {
    if !isFinished { try? new.remove(fileName) }
  }

  /// Makes the report pending, and synchronizes it to disk.
  ///
  /// After an error other than `reportExists`, the report may be pending or not; `prepareNewReport` with the same ID
  /// shows which.
  ///
  /// - Throws: `CrashReportDatabaseError`; its code is `reportExists` if another writer finished
  ///   the same report first.
  package consuming func finish() throws(CrashReportDatabaseError) {
    let own = try checkFile()
    try Self.move(
      (id, fileName, own), from: new, to: pending, elsewhere: completed, metadata,
      isMoved: &isFinished)
  }

  /// Moves the report to the completed ones instead of the pending ones, but otherwise acts like `finish()`.
  ///
  /// The report is uploaded only after `requestUpload`.
  package consuming func finishWithoutUpload() throws(CrashReportDatabaseError) {
    let own = try checkFile()
    try Self.move(
      (id, fileName, own), from: new, to: completed, elsewhere: pending, metadata,
      isMoved: &isFinished)
  }

  private func checkFile() throws(CrashReportDatabaseError) -> FileStatus {
    try file.synchronize()
    let own = try file.status()
    guard let found = try new.status(of: fileName), found.isSameFile(as: own) else {
      throw CrashReportDatabaseError(.newReportLost, "\(new.path)/\(fileName)")
    }
    return own
  }

  private var metadata: ReportMetadata {
    var metadata = ReportMetadata(creationTime: Int64(time(nil)))
    if isUploaderCrash { metadata.attributes.insert(.uploaderCrash) }
    return metadata
  }

  private static func move(
    _ report: (id: ReportID, fileName: String, own: FileStatus), from new: borrowing Directory,
    to target: borrowing Directory, elsewhere: borrowing Directory, _ metadata: ReportMetadata,
    isMoved: inout Bool
  ) throws(CrashReportDatabaseError) {
    let (id, fileName, own) = report
    let name = StoredReport.fileName(id)
    // The metadata is written before the minidump is moved, because Crashpad's tools delete a minidump that has no
    // metadata.
    let metadataName = StoredReport.metadataName(id)
    if try !target.put(
      metadata.bytes, as: metadataName, by: new, replacing: false, synchronizing: false)
    {
      // The existing metadata belongs to a report, whose minidump then exists, or was left by a writer that ended
      // before it moved the minidump. In the second case, this report uses the metadata.
      guard try target.status(of: name) == nil else {
        throw CrashReportDatabaseError(.reportExists, "\(id)")
      }
    }
    switch try new.rename(fileName, to: target, name, replacing: false) {
    case .done: isMoved = true
    case .targetExists: throw CrashReportDatabaseError(.reportExists, "\(id)")
    case .sourceMissing:
      throw CrashReportDatabaseError(.newReportLost, "\(new.path)/\(fileName)")
    }
    // Since the check in `make`, a file with this name may have appeared in the other directory. If it is the same
    // file, an uploader has moved this report there. Otherwise it is another writer's report with this ID, so this
    // report is removed.
    if let found = try elsewhere.status(of: name), !found.isSameFile(as: own) {
      try target.remove(name)
      try target.remove(metadataName)
      throw CrashReportDatabaseError(.reportExists, "\(id)")
    }
    // The directory `new/` is not synchronized. If a power cut undoes the removal of the file's name from `new/`, a
    // prune removes that name after three days.
    try target.synchronize()
  }
}
