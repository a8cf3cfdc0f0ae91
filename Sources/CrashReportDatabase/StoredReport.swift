public import IntermediateDump

/// A report in the database.
public struct StoredReport: Sendable, Equatable, CustomStringConvertible {
  /// The state of a report, and the name of its directory.
  public enum State: String, Sendable, CaseIterable {
    /// The report is being written, or was left by a writer that ended; it is never read.
    case new
    /// Complete, and not yet uploaded or skipped.
    case pending
    /// Uploaded, or excluded from uploads.
    case completed
  }

  public let id: ReportID
  public let state: State
  /// The minidump's path.
  public var path: String { "\(directory)/\(Self.fileName(id))" }
  /// The time from the metadata, in whole seconds; the minidump's last change if that is lost.
  public let creationTime: Timestamp
  /// The minidump's size in bytes.
  public let size: Int64
  /// The state of its upload.
  public let upload: ReportUpload
  /// The minidump's last change, in nanoseconds since 1970.
  let modificationTime: Int64
  /// The minidump's status change time, in nanoseconds since 1970.
  let changeTime: Int64
  let directory: String

  /// The date from which its age counts.
  ///
  /// For a report that was made while the clock was not set, it is the last change of its file.
  func date(at now: Timestamp) -> Timestamp {
    let changed = Timestamp(nanoseconds: changeTime)
    return !creationTime.isPossible(at: now) && changed.isPossible(at: now) ? changed : creationTime
  }

  public var description: String { "\(id) \(state.rawValue) \(size) bytes \(path)" }

  /// The name of a report's minidump.
  static func fileName(_ id: ReportID) -> String { "\(id).dmp" }

  /// The name of a report's metadata.
  static func metadataName(_ id: ReportID) -> String { "\(id).meta" }

  /// The report of a minidump's name; nil for every other name.
  static func id(fileName: String) -> ReportID? {
    id(fileName, suffix: ".dmp")
  }

  /// The report of a metadata file's name; nil for every other name.
  static func id(metadataName: String) -> ReportID? {
    id(metadataName, suffix: ".meta")
  }

  /// Accepts IDs only in the form in which they are written, in lower case.
  private static func id(_ name: String, suffix: String) -> ReportID? {
    let isWritten = name.utf8.count == 36 + suffix.utf8.count && name.hasSuffix(suffix)
    guard isWritten, !name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return nil }
    return ReportID(String(name.prefix(36)))
  }
}

/// The state of a report's upload, from its metadata.
public struct ReportUpload: Sendable, Equatable {
  /// The number of uploads that were started.
  public let attempts: Int
  /// The time of the last attempt; nil if there was none.
  public let lastAttemptTime: Timestamp?
  /// The earliest time of the next attempt; nil for immediately.
  public let nextAttemptTime: Timestamp?
  /// True after `requestUpload`, which ignores the database's settings.
  public let isRequested: Bool
  /// True once the server has it.
  public let isUploaded: Bool
  /// The server's ID for the report; empty if the server returned none.
  public let serverID: String
  /// The outcome of the last attempt, or why there will be none; empty for none.
  public let note: String
  /// The report with whose upload this one is counted; its own ID if its minidump is left out.
  package let countedWith: ReportID?
  /// The parts that are left out, because a server refused a larger upload.
  package let reduction: UploadReduction

  /// - Parameter metadata: nil if it is missing or damaged, which counts as no attempt.
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
  }
}

/// The parts of a report that are left out of its upload, because a server found more too large.
package enum UploadReduction: Int, Sendable, CaseIterable {
  case none
  /// Leaves out the attachments of the program.
  case withoutAttachments
  /// Besides attachments, leaves out the large part of a minidump: a form gets a minidump without memory, an envelope
  /// gets none.
  case smallest

  /// The next stricter privacy; nil if nothing more can be left out.
  package var next: UploadReduction? { UploadReduction(rawValue: rawValue + 1) }
}
