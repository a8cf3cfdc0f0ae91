public import CrashConverter
internal import CrashHandler

/// Makes reports of the dumps that earlier runs of this program left in the handler's database.
///
/// Call it once after `startHandler`. It does the same as `processIntermediateDumps` of `Handler.current`, which has
/// more parameters and a form for `async` code.
///
/// - Parameters:
///   - annotations: added to every report; they replace a dump's annotations of the same names.
///   - storingSymbols: whether each report keeps the functions and lines of its crashing thread.
///   - userStreams: add streams to every report.
/// - Returns: a result for each dump, which can be printed as one line. A dump that failed is not an error: it is
///   tried again at the next call.
/// - Throws: `CrashConverterError` if no dump can be processed at all, or if `startHandler` has not succeeded.
///
/// Source: Crashpad `client/ios_handler/in_process_handler.cc`, ProcessIntermediateDumps.
@discardableResult
public func processIntermediateDumps(
  annotations: [String: String] = [:], storingSymbols: Bool = true,
  userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> [ProcessedDump] {
  guard let handler = Handler.current else { throw CrashConverterError.handlerNotStarted }
  return try handler.processIntermediateDumps(
    annotations: annotations, storingSymbols: storingSymbols, userStreams: userStreams)
}
