internal import Glibc
public import IntermediateDump

/// The database's own settings: the client ID and the consent to uploads.
///
/// Layout, little-endian, 40 bytes: magic (4), version 1 (4), options (4, bit 0: uploads enabled),
/// padding (4), last upload attempt in seconds since 1970 (8), client ID (16, its first three
/// fields little-endian).
///
/// Source: Crashpad `client/settings.cc`, `Settings::Data`; `util/misc/uuid.h`.
package struct DatabaseSettings: Sendable, Equatable {
  static let fileName = "settings.dat"
  static let size = 40
  /// The character constant 'CPds'; the file is little-endian, so its first bytes are "sdPC".
  static let magic: UInt32 = 0x4350_6473

  /// The offset in the file of the time of the last upload attempt.
  ///
  /// An upload attempt overwrites this time, and leaves the other settings unchanged.
  static let attemptOffset: Int64 = 16

  /// Bit 0 means that uploads are enabled; unknown bits are kept.
  private var options: UInt32 = 0
  var lastUploadAttemptTime: Int64 = 0
  package var clientID: ReportID

  /// Creates settings in which uploads are disabled.
  init(clientID: ReportID) {
    self.clientID = clientID
  }

  /// Reads settings; nil if they are damaged or incomplete, have another version, or lack a client ID.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.size,
      bytes.littleEndian(at: 0, as: UInt32.self) == Self.magic,
      bytes.littleEndian(at: 4, as: UInt32.self) == 1,
      let options = bytes.littleEndian(at: 8, as: UInt32.self),
      let lastAttempt = bytes.littleEndian(at: 16, as: Int64.self),
      let clientID = ReportID(bytes: Self.reordered(Array(bytes[24...]))),
      clientID.bytes.contains(where: { $0 != 0 })
    else { return nil }
    self.options = options
    lastUploadAttemptTime = lastAttempt
    self.clientID = clientID
  }

  package var uploadsEnabled: Bool {
    get { options & 1 == 1 }
    set { options = newValue ? options | 1 : options & ~1 }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.magic)
    bytes.append(littleEndian: UInt32(1))
    bytes.append(littleEndian: options)
    bytes.append(littleEndian: UInt32(0))
    bytes.append(littleEndian: lastUploadAttemptTime)
    return bytes + Self.reordered(clientID.bytes)
  }

  /// Reverses the byte order of the first three fields of an ID (4, 2 and 2 bytes); the function is its own inverse.
  private static func reordered(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes[0..<4].reversed() + bytes[4..<6].reversed() + bytes[6..<8].reversed() + bytes[8...])
  }
}

extension CrashReportDatabase {
  /// The random ID that all reports of this database share; the first call creates this ID.
  ///
  /// Settings that are damaged or incomplete, or have another version, are replaced by settings with a new ID. Threads
  /// and processes that find no settings at the same moment get the same ID.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read or written.
  public func clientID() throws(CrashReportDatabaseError) -> ReportID {
    try settings().clientID
  }

  /// Reads the settings without creating or replacing them.
  ///
  /// - Returns: nil if there are none, or if they are damaged or not in a regular file.
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read.
  package func settingsAsTheyAre() throws(CrashReportDatabaseError) -> DatabaseSettings? {
    let database = try open()
    let name = DatabaseSettings.fileName
    guard try database.status(of: name)?.kind == .regular else { return nil }
    do {
      return DatabaseSettings(
        bytes: try database.contents(of: name, limit: DatabaseSettings.size))
    } catch {
      guard error.code == .tooLarge else { throw error }
      return nil
    }
  }

  func settings() throws(CrashReportDatabaseError) -> DatabaseSettings {
    let database = try open()
    let workshop = try database.subdirectory(.new)
    let name = DatabaseSettings.fileName
    // The steps are repeated, because another process may create, replace or remove the file between two steps.
    for _ in 0..<100 {
      guard let status = try database.status(of: name) else {
        let settings = DatabaseSettings(clientID: ReportID())
        if try database.put(settings.bytes, as: name, by: workshop, replacing: false) {
          return settings
        }
        continue
      }
      if status.kind == .regular {
        do {
          let bytes = try database.contents(of: name, limit: DatabaseSettings.size)
          if let settings = DatabaseSettings(bytes: bytes) { return settings }
        } catch  where error.code != .tooLarge {
          // Either another process has removed the damaged file, or the file cannot be read.
          if try database.status(of: name)?.isSameFile(as: status) == true { throw error }
          continue
        } catch {}
      }
      try setAside(name, status, database)
    }
    throw CrashReportDatabaseError(
      .notARegularFile, "\(path)/\(name) is replaced again and again; remove it")
  }

  /// Renames damaged settings, and removes them if they are a regular file.
  ///
  /// If another process has replaced the settings in the meantime, the new settings get their name back.
  private func setAside(
    _ name: String, _ damaged: FileStatus, _ database: borrowing Directory
  ) throws(CrashReportDatabaseError) {
    let aside = "\(name).\(UInt64.random(in: .min ... .max)).damaged"
    guard try database.rename(name, to: database, aside, replacing: true) == .done,
      let moved = try database.status(of: aside)
    else { return }
    if moved.isSameFile(as: damaged) {
      if moved.kind == .regular { try database.remove(aside) }
    } else {
      _ = try database.rename(aside, to: database, name, replacing: false)
    }
  }
}

extension CrashReportDatabase {
  /// Returns true if uploads are enabled; by default, they are not.
  ///
  /// The result is false for settings that are damaged or incomplete, or have an unknown version, until uploads are
  /// enabled again.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read or created; treat this error as false.
  public func uploadsEnabled() throws(CrashReportDatabaseError) -> Bool {
    try settings().uploadsEnabled
  }

  /// Enables or disables uploads for every process that shares the database.
  ///
  /// The change takes effect immediately, and is synchronized to disk.
  ///
  /// If two processes change this setting at the same moment, one of the two values is stored. Nothing else enables
  /// uploads, and no other change of the settings undoes this change.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read or written; uploads then stay as they were.
  ///   The error is also thrown if the database's directory cannot be synchronized to disk; the change may then be lost
  ///   in a power cut.
  public func setUploadsEnabled(_ enabled: Bool) throws(CrashReportDatabaseError) {
    var settings = try settings()
    settings.uploadsEnabled = enabled
    let database = try open()
    let workshop = try database.subdirectory(.new)
    _ = try database.put(
      settings.bytes, as: DatabaseSettings.fileName, by: workshop, replacing: true)
  }

  /// The time of the last upload attempt, in whole seconds.
  ///
  /// - Returns: nil if there was no attempt. Also nil for a time in the future, which comes from a wrong clock or
  ///   damage.
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read or created.
  public func lastUploadAttemptTime() throws(CrashReportDatabaseError) -> Timestamp? {
    let time = try settings().lastUploadAttemptTime
    return time > 0 && time <= Int64(Glibc.time(nil)) ? Timestamp(seconds: time) : nil
  }

  /// Stores the time of an upload attempt in the settings.
  ///
  /// Only the eight bytes of the time are overwritten, so a change of the settings by another process is kept.
  ///
  /// - Parameter time: seconds since 1970.
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be written.
  package func recordUploadAttempt(at time: Int64) throws(CrashReportDatabaseError) {
    // This call creates the settings if there are none.
    _ = try settings()
    var bytes: [UInt8] = []
    bytes.append(littleEndian: time)
    try open().open(DatabaseSettings.fileName, forWriting: true)
      .write(bytes, at: DatabaseSettings.attemptOffset)
  }
}
