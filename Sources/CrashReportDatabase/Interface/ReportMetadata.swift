internal import IntermediateDump

/// The contents of a report's `.meta` file, for uploads and pruning.
///
/// Layout, little-endian: version 1 (4 bytes), upload attempts (4), last upload attempt (8), creation (8), attributes
/// (1), next upload attempt (7), then the server's ID. Three texts can follow, each after a NUL: the outcome of the last
/// attempt, the ID of the report with whose upload this one is counted, and the time since which uploads are refused in
/// seconds since 1970. Crashpad's layout has padding in place of the next attempt. Crashpad reads the server's ID to the
/// end of the file, and prints it as a text that ends at the NUL, so what follows does no harm.
///
/// Source: Crashpad `client/crash_report_database_generic.cc`, `ReportMetadata`.
package struct ReportMetadata: Sendable, Equatable {
  static let size = 32
  /// The maximum size of the file in bytes; a longer file counts as damaged, because a server's ID is a short text.
  static let maximumFileSize = 64 << 10
  /// The maximum number of bytes of each text.
  static let maximumTextSize = 4 << 10

  /// The attributes of a report, which are one byte of its metadata file.
  struct Attributes: OptionSet, Sendable {
    let rawValue: UInt8
    static let uploaded = Attributes(rawValue: 1)
    static let uploadExplicitlyRequested = Attributes(rawValue: 2)
    /// The bits of `withoutAttachments` and `smallest` belong to this package; Crashpad ignores them.
    static let withoutAttachments = Attributes(rawValue: 4)
    static let smallest = Attributes(rawValue: 8)
    /// The report is about a crash in the uploader, after which the uploader has sent nothing yet; Crashpad ignores this
    /// bit too.
    static let uploaderCrash = Attributes(rawValue: 16)
    /// The refusal since `refusedSince` concerns the server's address or the key, and so all reports; Crashpad ignores
    /// this bit too.
    static let refusedWithOthers = Attributes(rawValue: 32)
  }

  /// The parts that are left out of uploads, because a server refused a larger upload.
  var reduction: UploadReduction {
    get {
      attributes.contains(.smallest)
        ? .smallest : attributes.contains(.withoutAttachments) ? .withoutAttachments : .none
    }
    set {
      attributes.subtract([.withoutAttachments, .smallest])
      if newValue != .none { attributes.insert(.withoutAttachments) }
      if newValue == .smallest { attributes.insert(.smallest) }
    }
  }

  var uploadAttempts: Int32 = 0
  /// The time of the last upload attempt in seconds since 1970; 0 if there was none.
  var lastUploadAttemptTime: Int64 = 0
  /// The time of creation in seconds since 1970.
  var creationTime: Int64
  var attributes: Attributes = []
  /// The time of the next upload attempt in seconds since 1970; 0 if it may be made immediately.
  var nextUploadAttemptTime: Int64 = 0
  /// The server's ID for the report; empty if the report was not uploaded, or if the server returned no ID.
  var serverID = ""
  /// The outcome of the last attempt, or the reason why there will be no attempt; empty if there is neither.
  var uploadNote = ""
  /// The report with whose upload this one is counted; this report's own ID if it is sent without its minidump; nil if
  /// it is sent complete.
  var countedWith: ReportID?
  /// The time of the first answer that refused the address or was unclear, in seconds since 1970; 0 if there was none
  /// since the report was requested, or since the server has accepted another report.
  var refusedSince: Int64 = 0

  init(creationTime: Int64) {
    self.creationTime = creationTime
  }

  /// Reads a metadata file; nil if it is damaged or has another version.
  package init?(bytes: [UInt8]) {
    guard (Self.size...Self.maximumFileSize).contains(bytes.count),
      bytes.littleEndian(at: 0, as: Int32.self) == 1,
      let attempts = bytes.littleEndian(at: 4, as: Int32.self), attempts >= 0,
      let lastAttempt = bytes.littleEndian(at: 8, as: Int64.self),
      let creation = bytes.littleEndian(at: 16, as: Int64.self)
    else { return nil }
    uploadAttempts = attempts
    lastUploadAttemptTime = lastAttempt
    creationTime = creation
    attributes = Attributes(rawValue: bytes[24])
    nextUploadAttemptTime = Int64(clamping: bytes.littleEndian(at: 25, width: 7) ?? 0)
    let texts = bytes[Self.size...].split(
      separator: 0, maxSplits: 3, omittingEmptySubsequences: false)
    serverID = String(decoding: texts[0], as: UTF8.self)
    if texts.count > 1 { uploadNote = String(decoding: texts[1], as: UTF8.self) }
    if texts.count > 2 { countedWith = ReportID(String(decoding: texts[2], as: UTF8.self)) }
    if texts.count > 3 { refusedSince = Int64(String(decoding: texts[3], as: UTF8.self)) ?? 0 }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Int32(1))
    bytes.append(littleEndian: uploadAttempts)
    bytes.append(littleEndian: lastUploadAttemptTime)
    bytes.append(littleEndian: creationTime)
    bytes.append(attributes.rawValue)
    bytes.append(littleEndian: UInt64(clamping: min(nextUploadAttemptTime, 1 << 55)))
    // The last byte of the time is removed, because its field has only seven bytes.
    bytes.removeLast()
    bytes += serverID.cut(toBytes: Self.maximumTextSize).utf8
    let texts: [Substring] = [
      uploadNote.cut(toBytes: Self.maximumTextSize), countedWith?.description[...] ?? "",
      refusedSince > 0 ? "\(refusedSince)"[...] : "",
    ]
    for text in texts.prefix((texts.lastIndex { !$0.isEmpty } ?? -1) + 1) {
      bytes += [0] + text.utf8
    }
    return bytes
  }
}
