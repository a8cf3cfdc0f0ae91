public import CrashReportDatabase
public import IntermediateDump

/// Always throws, because this system has no dumps.
///
/// - Throws: `CrashConverterError` always, with the code `databaseUnusable`.
public func processIntermediateDumps(
  database path: String, identifier: String? = nil, annotations: [String: String] = [:],
  limit: Int = 20, storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = [],
  pruning: PruneCondition = PruneCondition(), privacy: ReportPrivacy = .full,
  progress: (_ done: Int, _ count: Int) -> Void = { _, _ in }
) throws(CrashConverterError) -> [ProcessedDump] {
  throw .unsupportedHere
}

/// Always throws, because this system has no recorded crashes.
///
/// - Throws: `CrashConverterError` always, with the code `databaseUnusable`.
public func recentCrashes(
  database path: String, identifier: String, limit: Int = 20
) throws(CrashConverterError) -> [RecentCrash] {
  throw .unsupportedHere
}

package func processIntermediateDump(
  _ reportID: ReportID, database path: String, annotations: [String: String] = [:],
  storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> ProcessedDump? {
  throw .unsupportedHere
}

package func processIntermediateDump(
  at file: String, database path: String, annotations: [String: String] = [:],
  storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> ProcessedDump? {
  throw .unsupportedHere
}

extension CrashConverterError {
  static let unsupportedHere = CrashConverterError(
    .databaseUnusable, CrashReportDatabaseError.unsupportedHere)
}
