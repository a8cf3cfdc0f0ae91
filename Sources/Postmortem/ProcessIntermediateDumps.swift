public import CrashConverter
internal import CrashHandler

/// Creates reports from the dumps that earlier runs of this program left in the handler's database.
///
/// Call this function once after `startHandler`. The method `processIntermediateDumps` of `Handler.current` does the
/// same, has more parameters, and also exists in an `async` form.
///
/// - Parameters:
///   - annotations: annotations to add to every report; they replace a dump's annotations with the same names.
///   - storingSymbols: whether each report stores the functions and lines of its crashing thread.
///   - userStreams: objects that add their own minidump streams to every report.
/// - Returns: a result for each dump, which can be printed as one line. A dump that could not be converted does not
///   make the call fail; the next call tries to convert it again.
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
