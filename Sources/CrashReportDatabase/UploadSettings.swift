internal import Glibc
internal import IntermediateDump

extension CrashReportDatabase {
  /// Whether reports may be uploaded; false until somebody enables it.
  ///
  /// Settings that are torn, or of a version that this code does not know, say nothing: then it is
  /// false, and stays so until it is enabled again.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read; take that as false.
  public func uploadsEnabled() throws(CrashReportDatabaseError) -> Bool {
    try settings().uploadsEnabled
  }

  /// Enables or disables uploads for every process that shares the database, at once and durably.
  ///
  /// Of two processes that do so at the same moment one wins. Nothing else ever enables uploads, nor
  /// writes the settings in a way that could undo this.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be written; they are as they were.
  public func setUploadsEnabled(_ enabled: Bool) throws(CrashReportDatabaseError) {
    var settings = try settings()
    settings.uploadsEnabled = enabled
    let database = try open()
    let workshop = try database.subfolder(StoredReport.State.new.rawValue)
    _ = try database.put(
      settings.bytes, as: DatabaseSettings.fileName, by: workshop, replacing: true)
  }

  /// When an upload was last tried, in seconds since 1970.
  ///
  /// - Returns: nil if never, and for a time in the future, which a clock set back or damage left.
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read.
  public func lastUploadAttemptTime() throws(CrashReportDatabaseError) -> Int64? {
    let time = try settings().lastUploadAttemptTime
    return time > 0 && time <= Int64(Glibc.time(nil)) ? time : nil
  }

  /// Notes that an upload is being tried.
  ///
  /// Writes these eight bytes alone, in place: settings that were replaced by others meanwhile, with
  /// uploads disabled for one, are not brought back.
  ///
  /// - Parameter time: seconds since 1970.
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be written.
  public func recordUploadAttempt(at time: Int64) throws(CrashReportDatabaseError) {
    // Makes them if there are none.
    _ = try settings()
    var bytes: [UInt8] = []
    LittleEndian.append(time, to: &bytes)
    try open().open(DatabaseSettings.fileName, forWriting: true)
      .write(bytes, at: DatabaseSettings.attemptOffset)
  }
}
