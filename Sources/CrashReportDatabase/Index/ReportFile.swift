package import IntermediateDump

/// A report, without its metadata, as `forEachReport` passes it to its caller.
package struct ReportFile: Sendable {
  package let id: ReportID
  package let state: StoredReport.State
  /// The minidump's file status, as from lstat(2).
  package let status: FileStatus
  /// The minidump's path.
  package let path: String
}

extension CrashReportDatabase {
  /// Visits the pending and completed reports in no particular order, with one of them in memory at a time.
  ///
  /// A report that changes its state during the walk may be visited twice, or not at all if `requestUpload` makes it
  /// pending again.
  ///
  /// - Parameters:
  ///   - passedOver: receives the error of each minidump that cannot be read.
  ///   - visit: returns false to end the walk.
  package func forEachReport(
    passedOver: (CrashReportDatabaseError) -> Void = { _ in }, _ visit: (ReportFile) -> Bool
  ) throws(CrashReportDatabaseError) {
    let database = try open()
    // Uploads move reports from pending to completed, so in this order, no report is missed because of an upload.
    for state in [.pending, .completed] as [StoredReport.State] {
      let directory = try database.subdirectory(state)
      var goesOn = true
      try directory.forEachName { (name) throws(CrashReportDatabaseError) in
        guard let id = StoredReport.id(fileName: name) else { return true }
        let status: FileStatus
        do throws(CrashReportDatabaseError) {
          guard let found = try directory.status(of: name) else { return true }
          guard found.kind == .regular else {
            throw CrashReportDatabaseError(.notARegularFile, "\(directory.path)/\(name)")
          }
          status = found
        } catch {
          guard error.concernsOneFile else { throw error }
          passedOver(error)
          return true
        }
        goesOn = visit(
          ReportFile(id: id, state: state, status: status, path: "\(directory.path)/\(name)"))
        return goesOn
      }
      guard goesOn else { return }
    }
  }
}
