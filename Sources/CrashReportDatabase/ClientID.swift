public import IntermediateDump

extension CrashReportDatabase {
  /// The random ID that all reports of this database share; made at the first call.
  ///
  /// Settings that are torn or of another version are replaced, and the database's client gets a
  /// new ID: the old one cannot be known. Threads and processes that find no settings at the same
  /// moment get the same ID.
  ///
  /// - Throws: `CrashReportDatabaseError` if the settings cannot be read or written.
  public func clientID() throws(CrashReportDatabaseError) -> ReportID {
    try settings().clientID
  }

  func settings() throws(CrashReportDatabaseError) -> DatabaseSettings {
    let database = try open()
    let workshop = try database.subfolder(StoredReport.State.new.rawValue)
    let name = DatabaseSettings.fileName
    // Each turn ends with settings, or with one step of somebody towards them.
    for _ in 0..<100 {
      guard let status = database.status(of: name) else {
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
          // Removed by somebody who found it damaged, or not readable at all.
          if database.status(of: name)?.isSameFile(as: status) == true { throw error }
          continue
        } catch {}
      }
      try setAside(name, status, database)
    }
    throw CrashReportDatabaseError(
      .notARegularFile, "\(path)/\(name) does not stay what it is; remove it")
  }

  /// Renames damaged settings away, unless somebody else has done so and put good ones there.
  private func setAside(
    _ name: String, _ damaged: FileStatus, _ database: borrowing Folder
  ) throws(CrashReportDatabaseError) {
    let aside = "\(name).\(UInt64.random(in: .min ... .max)).damaged"
    guard try database.rename(name, to: database, aside, replacing: true) == .done,
      let moved = database.status(of: aside)
    else { return }
    if moved.isSameFile(as: damaged) {
      if moved.kind == .regular { try database.remove(aside) }
    } else {
      _ = try database.rename(aside, to: database, name, replacing: false)
    }
  }
}
