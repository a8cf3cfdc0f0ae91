public import CrashConverter
internal import CrashHandler

/// Creates reports from the dumps in the handler's database.
///
/// The call first converts the dumps of earlier runs of this program, and then at most 20 dumps of other programs.
///
/// Call this function once after `startHandler`. The method `processIntermediateDumps` of `Handler.current` does the
/// same. The method has the additional parameter `pruning`, and also exists in an `async` form.
///
/// - Parameters:
///   - annotations: added to every full report; they replace a dump's annotations with the same names.
///   - storingSymbols: whether each report stores function names and lines, mainly of its crashing thread.
///   - userStreams: objects that add their own minidump streams to every full report.
/// - Returns: the results of the processed dumps, each of which can be printed as one line. Some dumps have no result,
///   for example a dump that another converter takes first. If a dump cannot be converted, the call does not throw, and
///   the next call tries to convert the dump again. The third failure moves the dump to the quarantine directory;
///   failures that the machine caused, such as a full disk, do not count.
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
