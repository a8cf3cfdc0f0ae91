public import CrashConverter
public import CrashHandler
public import IntermediateDump

/// Takes a dump of this process as it is now.
///
/// The report says "dump requested by the program"; it counts as no crash. The calling thread comes
/// first in it, as it stands in this call. Other threads are read without a signal: of one that
/// waits the stack is there, from the kernel's word on where it waits; of one that runs there are
/// name and state only. Takes milliseconds, with `.now` some tens more, 10 MB of address space
/// meanwhile, and a file of a few hundred kilobytes. Any number of threads may dump at once; a
/// crash during it is captured as ever. Never call it from a signal handler.
///
/// - Parameters:
///   - processing: `.deferred` only writes the dump.
///   - stopsThreads: whether other threads are stopped for the time of the dump, so that those that
///     run have registers and stacks too. Calls such as `nanosleep`, `poll` and `epoll_wait` may
///     then end with EINTR in them.
/// - Returns: the report's ID. That a conversion failed is no error: the dump stays, as deferred.
/// - Throws: `CrashHandlerError` if the handler was not started, memory was refused, or the dump
///   could not be written; then nothing is left of it.
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

/// Makes a report of a dump that `dumpWithoutCrash(to:)` has left in a file, and removes the file.
///
/// - Parameters:
///   - path: the dump.
///   - annotations: added to the report; a name that the dump has too gets this value.
///   - userStreams: asked for streams of the report.
/// - Returns: what was done; nil if another converter was faster. A conversion that failed is tried
///   again with the pending dumps.
/// - Throws: `CrashConverterError` if the handler was not started, or the file is not there or no
///   dump; it stays then.
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
