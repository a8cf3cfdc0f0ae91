internal import Glibc
package import IntermediateDump
internal import Synchronization

/// The reports of a database, and the errors of the reports that could not be read.
///
/// If the file of one report cannot be read, the caller (for example, a command that lists, removes or uploads reports)
/// prints the error and continues with the other reports.
package struct ReportListing: Sendable {
  /// The reports, in no particular order.
  package fileprivate(set) var reports: [StoredReport] = []
  /// The errors of reports that could not be read, by the ID in the file's name.
  ///
  /// If such a report is also in `reports`, only its metadata could not be read, so nothing is known about its
  /// upload.
  package fileprivate(set) var failures: [ReportID: CrashReportDatabaseError] = [:]

  /// The reports whose upload state is known.
  package var knownReports: [StoredReport] { reports.filter { failures[$0.id] == nil } }

  /// The failures, sorted by report ID.
  package var sortedFailures: [CrashReportDatabaseError] {
    failures.sorted { $0.key < $1.key }.map(\.value)
  }
}

extension CrashReportDatabase {
  /// Calls a function with pieces of `0..<count`, and returns all results in any order.
  package typealias Collection = (
    _ count: Int, _ body: @Sendable (Range<Int>) -> [StoredReport]
  ) -> [StoredReport]

  /// All reports that can be read, and the failures of the other reports.
  ///
  /// - Parameter collect: a function that calls its second argument with pieces of a range, possibly on several
  ///   threads.
  /// - Throws: if a directory cannot be read, or if an error is not about one particular file.
  package func listing(
    _ collect: Collection = { $1(0..<$0) }
  ) throws(CrashReportDatabaseError) -> ReportListing {
    let database = try open()
    var listing = ReportListing()
    var places: [ReportID: Int] = [:]
    // Conversion and uploads move reports from new to pending and then to completed, so in this order, none of these
    // moves hides a report. Only `requestUpload` moves a report back, so a listing at the same time may lack this
    // report.
    for state in StoredReport.State.allCases {
      let directory = try database.subdirectory(state)
      let names = try directory.names()
      let failures = Mutex<[ReportID: CrashReportDatabaseError]>([:])
      let reports = collect(names.count) { piece in
        names[piece].compactMap { name in
          StoredReport.id(fileName: name).flatMap { id in
            directory.report(id, name, state) { error in failures.withLock { $0[id] = error } }
          }
        }
      }
      for (id, error) in failures.withLock({ $0 }) {
        guard error.concernsOneFile else { throw error }
        listing.failures[id] = error
      }
      places.reserveCapacity(places.count + reports.count)
      for report in reports {
        if let place = places.updateValue(listing.reports.count, forKey: report.id) {
          listing.reports[place] = report
          places[report.id] = place
        } else {
          listing.reports.append(report)
        }
      }
    }
    return listing
  }

  /// Why the minidump cannot be read; nil if it can be read, if the file no longer exists, or if the error is not about
  /// this file.
  package func refusal(of report: StoredReport) -> CrashReportDatabaseError? {
    do throws(CrashReportDatabaseError) {
      _ = try openReport(report).read(at: 0, count: 1)
      return nil
    } catch {
      return error.errno == ENOENT || !error.concernsOneFile ? nil : error
    }
  }

  /// All reports, in no particular order.
  ///
  /// - Throws: if a directory cannot be read, or if a report cannot be read for a temporary reason; a report that
  ///   cannot be read for another reason is left out.
  package func unorderedReports() throws(CrashReportDatabaseError) -> [StoredReport] {
    let listing = try listing()
    let failure = listing.sortedFailures.first { SystemRefusals.isPassing($0.errno) }
    if let failure { throw failure }
    return listing.reports
  }
}

extension Directory {
  /// Reads a report by the name of its minidump; nil if it no longer exists or cannot be read.
  ///
  /// - Parameter note: receives the error of the report's minidump or metadata.
  fileprivate func report(
    _ id: ReportID, _ name: String, _ state: StoredReport.State,
    _ note: (CrashReportDatabaseError) -> Void
  ) -> StoredReport? {
    do throws(CrashReportDatabaseError) {
      guard let status = try status(of: name) else { return nil }
      guard status.kind == .regular else {
        throw CrashReportDatabaseError(.notARegularFile, "\(path)/\(name)")
      }
      var metadata: ReportMetadata?
      do throws(CrashReportDatabaseError) {
        metadata = try knownMetadata(of: id)
      } catch {
        note(error)
      }
      return StoredReport(id, state, status, metadata, in: self)
    } catch {
      note(error)
      return nil
    }
  }

  /// The metadata of a report; nil if there is none or it is damaged.
  ///
  /// - Throws: an error if the metadata file cannot be read, is not a regular file, or is not accessible to this user. If
  ///   the result were nil, the report might be sent again, although the file may record that the server has it.
  private func knownMetadata(of id: ReportID) throws(CrashReportDatabaseError) -> ReportMetadata? {
    if let metadata = try metadata(of: id) { return metadata }
    let name = StoredReport.metadataName(id)
    guard try status(of: name) != nil else { return nil }
    _ = try open(name)
    return nil
  }
}
