internal import IntermediateDump

/// The database's own settings: who this client is, and whether it may upload.
///
/// Layout, little-endian, 40 bytes: magic (4), version 1 (4), options (4, bit 0: uploads enabled),
/// padding (4), last upload attempt in seconds since 1970 (8), client ID (16, its first three
/// fields little-endian).
///
/// Source: Crashpad `client/settings.cc`, `Settings::Data`; `util/misc/uuid.h`.
struct DatabaseSettings: Sendable, Equatable {
  static let fileName = "settings.dat"
  static let size = 40
  /// The character constant 'CPds', which lies backwards in a little-endian file.
  static let magic: UInt32 = 0x4350_6473

  /// Where the time lies that is written alone.
  static let attemptOffset: Int64 = 16

  /// Bit 0 says that uploads are enabled; bits that are not known are kept.
  private var options: UInt32 = 0
  var lastUploadAttemptTime: Int64 = 0
  var clientID: ReportID

  /// Uploads are off until the program's user says otherwise.
  init(clientID: ReportID) {
    self.clientID = clientID
  }

  /// Reads settings; nil if they are torn, of another version, or name no client.
  init?(bytes: [UInt8]) {
    guard bytes.count == Self.size,
      LittleEndian.integer(bytes, at: 0, as: UInt32.self) == Self.magic,
      LittleEndian.integer(bytes, at: 4, as: UInt32.self) == 1,
      let options = LittleEndian.integer(bytes, at: 8, as: UInt32.self),
      let lastAttempt = LittleEndian.integer(bytes, at: 16, as: Int64.self),
      let clientID = ReportID(bytes: Self.reordered(Array(bytes[24...]))),
      clientID.bytes.contains(where: { $0 != 0 })
    else { return nil }
    self.options = options
    lastUploadAttemptTime = lastAttempt
    self.clientID = clientID
  }

  var uploadsEnabled: Bool {
    get { options & 1 == 1 }
    set { options = newValue ? options | 1 : options & ~1 }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    LittleEndian.append(Self.magic, to: &bytes)
    LittleEndian.append(UInt32(1), to: &bytes)
    LittleEndian.append(options, to: &bytes)
    LittleEndian.append(UInt32(0), to: &bytes)
    LittleEndian.append(lastUploadAttemptTime, to: &bytes)
    return bytes + Self.reordered(clientID.bytes)
  }

  /// Turns the first three fields of an ID (4, 2 and 2 bytes) around; its own inverse.
  private static func reordered(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes[0..<4].reversed() + bytes[4..<6].reversed() + bytes[6..<8].reversed() + bytes[8...])
  }
}
