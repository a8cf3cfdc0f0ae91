internal import IntermediateDump
internal import PendingDumps

/// Whether `startHandler` could use a database, as a start without a handler has shown.
///
/// Not crash code.
package struct DatabaseTrial {
  /// The database's path, absolute and without symbolic links.
  package let path: String
  /// True if the file system supports FIFOs.
  package let hasFIFO: Bool

  /// Creates the files of a start, and removes them again.
  ///
  /// No directory is created, and no dump is deleted to free space.
  ///
  /// - Parameter database: the database's directory, which exists.
  /// - Throws: the error of `startHandler`.
  package init(_ database: String) throws(CrashHandlerError) {
    let host = HostIdentity.current()
    let files = try PendingDumpFiles.make(
      database: database, identifier: "postmortem", record: RunRecord.current(host: host),
      host: host, isTrial: true)
    path = files.databasePath
    hasFIFO = files.heldFIFO.descriptor >= 0
  }
}
