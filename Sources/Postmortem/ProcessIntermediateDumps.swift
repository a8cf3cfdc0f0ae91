public import CrashConverter
internal import CrashHandler

/// Makes reports of the dumps that earlier runs of this program left in the handler's database.
///
/// Call it once after `startHandler`, when the program has time: it reads, converts and waits for
/// the disk, tens of milliseconds a dump. Any number of threads and processes may do it at once;
/// each dump becomes one report. This program's dumps come first, then at most 20 that other
/// programs of the same database have finished. Nothing is uploaded.
///
/// - Parameters:
///   - annotations: added to every report made; a name that a dump has too gets this value.
///   - storingSymbols: whether each report keeps the functions and lines of its crashing thread,
///     while the build that crashed is mostly still there; at most about 2 seconds a dump.
///   - userStreams: asked for streams of every report made.
/// - Returns: what was done, dump by dump; each prints as one line. A dump that failed is among
///   them and is tried again at the next call, so it is not an error.
/// - Throws: `CrashConverterError` only where no dump can be processed at all, also before
///   `startHandler` has succeeded.
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
