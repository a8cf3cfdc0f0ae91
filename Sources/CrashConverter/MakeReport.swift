internal import CrashReportDatabase
package import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

/// Makes a report on a process for which there is no dump, for example from a core file.
///
/// A second call for the same crash makes no second report.
///
/// - Parameters:
///   - snapshot: the snapshot, with the memory that the report is to contain, and with the report's ID. This ID must be
///     the same in each call for the same crash, because it shows that the report already exists.
///   - name: the name of the file that the snapshot was made from.
///   - path: the database's directory.
///   - privacy: the privacy level of the report.
///   - symbolDirectories: directories to search for more files of the same builds.
/// - Returns: the result, whose `summary` is nil if the report already existed or could not be made.
/// - Throws: `CrashConverterError` only if the database cannot be used.
package func makeReport(
  of snapshot: ProcessSnapshot, named name: String, database path: String,
  privacy: ReportPrivacy = .full, symbolDirectories: [String] = []
) throws(CrashConverterError) -> ProcessedDump {
  try withOwnersRights(to: path) { () throws(CrashConverterError) in
    let database = try openDatabase(path)
    let conversion = DumpConversion(
      database: database, annotations: [:], symbols: SymbolBudget(directories: symbolDirectories),
      userStreams: UserStreams(sources: []), privacy: privacy)
    let id = snapshot.reportID ?? ReportID()
    do throws(DumpConversion.Failure) {
      let summary = try conversion.convert(snapshot, as: id)
      let damage = snapshot.capture.isComplete ? nil : snapshot.capture.damage ?? "cut off"
      return ProcessedDump(
        reportID: id, fileName: name, outcome: damage.map { .torn($0) } ?? .complete,
        summary: summary)
    } catch {
      return ProcessedDump(
        reportID: id, fileName: name, outcome: .failed(error.reason), summary: nil)
    }
  }
}

extension DumpConversion {
  /// Makes a report from a snapshot, and synchronizes it to disk.
  ///
  /// - Returns: nil if the report already existed.
  fileprivate func convert(
    _ captured: ProcessSnapshot, as id: ReportID
  ) throws(Failure) -> ProcessedDump.Summary? {
    do throws(CrashReportDatabaseError) {
      if try database.synchronize(id) { return nil }
    } catch {
      throw Failure(error)
    }
    var snapshot = captured.keeping(privacy, symbols: SymbolSource())
    snapshot.reportID = id
    if let symbols { snapshot.storedSymbols = symbols.gather(for: snapshot) }
    let verdict = analyze(&snapshot, symbols?.source)
    do throws(Failure) {
      let status = try store(&snapshot, of: nil, as: id)
      return summarize(snapshot, ReportIndex.Key(id, status: status), verdict)
    } catch  where error.isReportThere {
      return nil
    }
  }
}
