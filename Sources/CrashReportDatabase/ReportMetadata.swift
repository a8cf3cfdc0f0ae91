/// The contents of the file beside a report, for uploads and pruning.
///
/// Layout, little-endian: version 1 (4 bytes), upload attempts (4), last upload attempt (8),
/// creation (8), attributes (1), next upload attempt (7), then the server's ID. A NUL and the outcome of
/// the last attempt follow. Crashpad has padding in place of the next attempt, and reads the ID to the
/// end of the file, which prints as a text that ends at the NUL.
///
/// Source: Crashpad `client/crash_report_database_generic.cc`, `ReportMetadata`.
struct ReportMetadata: Sendable, Equatable {
  static let size = 32
  /// A longer file is damaged: a server's ID is a short text.
  static let maximumFileSize = 64 << 10
  /// Bytes of each text that are written.
  static let maximumTextSize = 4 << 10

  /// The attributes byte.
  struct Attributes: OptionSet, Sendable {
    let rawValue: UInt8
    static let uploaded = Attributes(rawValue: 1)
    static let uploadExplicitlyRequested = Attributes(rawValue: 2)
  }

  var uploadAttempts: Int32 = 0
  /// Seconds since 1970; 0 where there was none.
  var lastUploadAttemptTime: Int64 = 0
  /// Seconds since 1970.
  var creationTime: Int64
  var attributes: Attributes = []
  /// The time of the next attempt in seconds since 1970; 0 for at once.
  var nextUploadAttemptTime: Int64 = 0
  /// The server's name for the report; empty while it is not uploaded.
  var serverID = ""
  /// The outcome of the last attempt, or why there will be none; empty for none.
  var uploadNote = ""

  init(creationTime: Int64) {
    self.creationTime = creationTime
  }

  /// Reads a metadata file; nil if it is torn or of another version.
  init?(bytes: [UInt8]) {
    guard (Self.size...Self.maximumFileSize).contains(bytes.count),
      LittleEndian.integer(bytes, at: 0, as: Int32.self) == 1,
      let attempts = LittleEndian.integer(bytes, at: 4, as: Int32.self), attempts >= 0,
      let lastAttempt = LittleEndian.integer(bytes, at: 8, as: Int64.self),
      let creation = LittleEndian.integer(bytes, at: 16, as: Int64.self)
    else { return nil }
    uploadAttempts = attempts
    lastUploadAttemptTime = lastAttempt
    creationTime = creation
    attributes = Attributes(rawValue: bytes[24])
    nextUploadAttemptTime = bytes[25..<32].reversed().reduce(0) { $0 << 8 | Int64($1) }
    let texts = bytes[Self.size...].split(
      separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    serverID = String(decoding: texts[0], as: UTF8.self)
    if texts.count > 1 { uploadNote = String(decoding: texts[1], as: UTF8.self) }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    LittleEndian.append(Int32(1), to: &bytes)
    LittleEndian.append(uploadAttempts, to: &bytes)
    LittleEndian.append(lastUploadAttemptTime, to: &bytes)
    LittleEndian.append(creationTime, to: &bytes)
    bytes.append(attributes.rawValue)
    let next = UInt64(clamping: min(nextUploadAttemptTime, 1 << 55))
    for shift in stride(from: 0, to: 56, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: next >> UInt64(shift)))
    }
    bytes += serverID.utf8.prefix(Self.maximumTextSize)
    return uploadNote.isEmpty ? bytes : bytes + [0] + uploadNote.utf8.prefix(Self.maximumTextSize)
  }
}

/// Fixed-width integers in byte arrays.
enum LittleEndian {
  /// Nil if the integer does not lie wholly in the array.
  static func integer<Integer: FixedWidthInteger>(
    _ bytes: [UInt8], at offset: Int, as type: Integer.Type
  ) -> Integer? {
    let width = Integer.bitWidth / 8
    guard offset >= 0, bytes.count >= width, offset <= bytes.count - width else { return nil }
    return bytes[offset..<offset + width].reversed().reduce(Integer(0)) {
      $0 << 8 | Integer(truncatingIfNeeded: $1)
    }
  }

  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
