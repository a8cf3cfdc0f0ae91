public import CrashConverter
public import CrashHandler
public import IntermediateDump

/// Takes a dump of this process as it is now.
///
/// The report says "dump requested by the program", does not count as a crash, and has the calling
/// thread first. Other threads are read without a signal: the stacks of those that wait; of those
/// that run only name and state. Takes milliseconds, with `.now` some tens more, 10 MB of address
/// space meanwhile, and a file of a few hundred kilobytes. Any number of threads may call it; a
/// crash meanwhile is captured. Never call it from a signal handler.
///
/// - Parameters:
///   - processing: `.deferred` only writes the dump.
///   - stopsThreads: whether to stop other threads during the dump, so that those that run have
///     registers and stacks too. Their calls of `nanosleep`, `poll` and `epoll_wait` may end with
///     EINTR.
/// - Returns: the report's ID. A failed conversion is not an error: the dump stays, as if deferred.
/// - Throws: `CrashHandlerError` if the handler was not started, memory was refused, or the dump
///   could not be written; no file is left then.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrash and
/// DumpWithoutCrashAndDeferProcessing.
@discardableResult @inline(never)
public func dumpWithoutCrash(
  processing: DumpProcessing, stopsThreads: Bool = false
) throws(CrashHandlerError) -> ReportID {
  let reportID = try CrashHandler.dumpWithoutCrash(
    processing: DeferredProcessing.deferred, stopsThreads: stopsThreads)
  if processing == .now, let handler = startedHandler() {
    _ = try? processIntermediateDump(reportID, database: handler.database)
  }
  return reportID
}

/// Makes a report of a file that `dumpWithoutCrash(to:)` has written, and removes the file.
///
/// - Parameters:
///   - path: the dump.
///   - annotations: added to the report; they replace those of the same names.
///   - userStreams: add streams to the report.
/// - Returns: the result; nil if another converter was faster. A failed conversion is tried again
///   with the pending dumps.
/// - Throws: `CrashConverterError` if the handler was not started, or the file is missing or not a
///   dump, which is left alone.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, ProcessIntermediateDump.
@discardableResult
public func processIntermediateDump(
  at path: String, annotations: [String: String] = [:],
  userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> ProcessedDump? {
  guard let handler = startedHandler() else { throw CrashConverterError.handlerNotStarted }
  return try processIntermediateDump(
    at: path, database: handler.database, annotations: annotations, userStreams: userStreams)
}
