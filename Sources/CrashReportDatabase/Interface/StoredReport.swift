public import IntermediateDump

/// A report in the database.
public struct StoredReport: Sendable, Equatable, CustomStringConvertible {
  /// The state of a report, and the name of its directory.
  public enum State: String, Sendable, CaseIterable {
    /// The report is being written, or was left by a writer that ended; a report in this state is never read.
    case new
    /// The report is completely written, and not yet uploaded or excluded from uploads.
    case pending
    /// The report was uploaded, was counted with the upload of another report, or was excluded from uploads.
    case completed
  }

  public let id: ReportID
  public let state: State
  /// The minidump's path.
  public var path: String { "\(directory)/\(Self.fileName(id))" }
  /// The time of creation in the metadata, in whole seconds.
  ///
  /// If the metadata is lost, the value is the time of the minidump's last change.
  public let creationTime: Timestamp
  /// The minidump's size in bytes.
  public let size: Int64
  /// The state of the report's upload.
  public let upload: ReportUpload
  /// The minidump's modification time, in nanoseconds since 1970.
  let modificationTime: Int64
  /// The minidump's status change time, in nanoseconds since 1970.
  let changeTime: Int64
  let directory: String

  /// The date from which the report's age counts.
  ///
  /// If the creation time is impossible, for example because the clock was not set, the date is the time of the last
  /// status change of the minidump's file, unless that time is impossible too.
  func date(at now: Timestamp) -> Timestamp {
    let changed = Timestamp(nanoseconds: changeTime)
    return !creationTime.isPossible(at: now) && changed.isPossible(at: now) ? changed : creationTime
  }

  public var description: String { "\(id) \(state.rawValue) \(size) bytes \(path)" }

  /// The file name of a report's minidump.
  static func fileName(_ id: ReportID) -> String { "\(id).dmp" }

  /// The name of a report's metadata file.
  static func metadataName(_ id: ReportID) -> String { "\(id).meta" }

  /// The report ID in the name of a minidump; nil for every other name.
  static func id(fileName: String) -> ReportID? {
    id(fileName, suffix: ".dmp")
  }

  /// The report ID in the name of a metadata file; nil for every other name.
  static func id(metadataName: String) -> ReportID? {
    id(metadataName, suffix: ".meta")
  }

  /// The report ID in a name with a suffix; nil unless the ID is in lower case, the form in which IDs are written.
  private static func id(_ name: String, suffix: String) -> ReportID? {
    let isWritten = name.utf8.count == 36 + suffix.utf8.count && name.hasSuffix(suffix)
    guard isWritten, !name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return nil }
    return ReportID(String(name.prefix(36)))
  }
}

extension StoredReport {
  /// True if the server has the report itself; false if an upload only counted the report.
  package var isUploadedWhole: Bool { upload.isUploaded && upload.countedWith != id }
}

/// The state of a report's upload, from its metadata.
public struct ReportUpload: Sendable, Equatable {
  /// The number of uploads that were started.
  public let attempts: Int
  /// The time of the last attempt; nil if there was none.
  public let lastAttemptTime: Timestamp?
  /// The earliest time of the next attempt; nil if an attempt may be made immediately, or if there will be none.
  public let nextAttemptTime: Timestamp?
  /// True after `requestUpload`, until the report is skipped.
  ///
  /// The report is uploaded even if the database's settings do not allow uploads.
  public let isRequested: Bool
  /// True once the server has accepted an upload of the report, even if the upload only counted the report.
  public let isUploaded: Bool
  /// The server's ID for the report; empty if the server returned none.
  public let serverID: String
  /// The time since which the server has refused this report, or all reports, with answers that do not say what is wrong
  /// with a report; nil if the server has not.
  ///
  /// For example, an answer with status 403 or 404 refuses all reports, because the address or the key is wrong.
  public let refusedSince: Timestamp?
  /// The reason why the last attempt failed, why the next one is delayed, or why there will be none; otherwise empty.
  public let note: String
  /// The ID of the report whose upload also counts this report; this report's own ID if it is sent without its
  /// minidump; nil if it is sent complete.
  package let countedWith: ReportID?
  /// The parts that are left out of the upload, because a server refused a larger upload.
  package let reduction: UploadReduction
  /// True for a crash in a program's uploader, until the uploader of the same build has sent a report.
  package let isUploaderCrash: Bool
  /// True if the refusal since `refusedSince` concerns all reports.
  package let isRefusedWithOthers: Bool

  /// - Parameter metadata: the metadata; nil if it is missing or damaged, which counts as if no upload was attempted.
  init(_ metadata: ReportMetadata?) {
    attempts = Int(metadata?.uploadAttempts ?? 0)
    func time(_ seconds: Int64?) -> Timestamp? {
      seconds.flatMap { $0 > 0 ? Timestamp(seconds: $0) : nil }
    }
    lastAttemptTime = time(metadata?.lastUploadAttemptTime)
    nextAttemptTime = time(metadata?.nextUploadAttemptTime)
    isRequested = metadata?.attributes.contains(.uploadExplicitlyRequested) ?? false
    isUploaded = metadata?.attributes.contains(.uploaded) ?? false
    serverID = metadata?.serverID ?? ""
    note = metadata?.uploadNote ?? ""
    countedWith = metadata?.countedWith
    reduction = metadata?.reduction ?? .none
    refusedSince = time(metadata?.refusedSince)
    isRefusedWithOthers = metadata?.attributes.contains(.refusedWithOthers) ?? false
    isUploaderCrash = metadata?.attributes.contains(.uploaderCrash) ?? false
  }
}

/// The parts of a report that are left out of its upload, because a server refused an upload as too large.
package enum UploadReduction: Int, Sendable, CaseIterable {
  case none
  /// Leaves out the attachments of the program.
  case withoutAttachments
  /// Leaves out the attachments and the large part of the minidump.
  ///
  /// With this reduction, a form for Crashpad's or Breakpad's servers contains a minidump without memory, and an
  /// envelope for Sentry contains no minidump.
  case smallest

  /// The next reduction, which leaves out more; nil if nothing more can be left out.
  package var next: UploadReduction? { UploadReduction(rawValue: rawValue + 1) }
}
