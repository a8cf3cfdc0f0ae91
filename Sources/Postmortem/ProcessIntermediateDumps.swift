public import CrashConverter
internal import CrashHandler

/// Makes reports of the dumps that earlier runs of this program left in the handler's database.
///
/// Call it once after `startHandler`; it takes tens of milliseconds a dump. Any number of threads
/// and processes may call it at once: each dump becomes one report. Takes this program's dumps
/// first, then at most 20 that other programs of the same database have finished. Uploads nothing.
///
/// - Parameters:
///   - annotations: added to every report; they replace those of the same names.
///   - storingSymbols: whether each report keeps the functions and lines of its crashing thread,
///     while the build that crashed is still there; at most about 2 seconds a dump.
///   - userStreams: add streams to every report.
/// - Returns: a result for each dump, which prints as one line. A dump that failed is not an error:
///   it is tried again at the next call.
/// - Throws: `CrashConverterError` if no dump can be processed at all, or `startHandler` has not
///   succeeded.
///
/// Source: Crashpad `client/ios_handler/in_process_handler.cc`, ProcessIntermediateDumps.
@discardableResult
public func processIntermediateDumps(
  annotations: [String: String] = [:], storingSymbols: Bool = true,
  userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> [ProcessedDump] {
  guard let handler = startedHandler() else {
    throw CrashConverterError.handlerNotStarted
  }
  return try processIntermediateDumps(
    database: handler.database, identifier: handler.identifier, annotations: annotations,
    storingSymbols: storingSymbols, userStreams: userStreams)
}
