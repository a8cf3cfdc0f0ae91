public import CrashConverter
public import CrashHandler
public import CrashReportDatabase
public import IntermediateDump

extension Handler {
  /// Converts dumps from earlier runs of this program to reports.
  ///
  /// The call takes tens of milliseconds for each dump. Any number of threads and processes may make this call at the
  /// same time; only one of them converts each dump. The call first converts the dumps of this program, and then at
  /// most 20 dumps that other programs left in the same database. The call uploads nothing.
  ///
  /// - Parameters:
  ///   - annotations: added to every full report; they replace a dump's annotations with the same names.
  ///   - storingSymbols: whether each report stores function names and lines, mainly of its crashing thread. They are
  ///     read from the crashed build's files, if these still exist. This takes at most about 2 seconds per dump, and 4
  ///     seconds per call.
  ///   - userStreams: objects that add their own minidump streams to every full report.
  ///   - pruning: the limits for the database. If there were dumps to convert, the call deletes the reports that exceed
  ///     these limits, including reports of other programs and reports that were not uploaded.
  /// - Returns: the results of the processed dumps, each of which can be printed as one line. Some dumps have no
  ///   result, for example a dump that another converter takes first. If a dump cannot be converted, the call does not
  ///   throw, and the next call tries to convert the dump again. The third failure moves the dump to the quarantine
  ///   directory; failures that the machine caused, such as a full disk, do not count.
  /// - Throws: `CrashConverterError` if no dump can be processed at all.
  ///
  /// Source: Crashpad `client/ios_handler/in_process_handler.cc`, ProcessIntermediateDumps.
  @discardableResult
  public func processIntermediateDumps(
    annotations: [String: String] = [:], storingSymbols: Bool = true,
    userStreams: [any UserStreamDataSource] = [], pruning: PruneCondition = PruneCondition()
  ) throws(CrashConverterError) -> [ProcessedDump] {
    try CrashConverter.processIntermediateDumps(
      database: database, identifier: identifier, annotations: annotations,
      storingSymbols: storingSymbols, userStreams: userStreams, pruning: pruning)
  }

  /// Does the same as the synchronous method, but on a new thread.
  ///
  /// On a thread of Swift concurrency, the conversion would delay other tasks while it waits for the disk. Canceling
  /// the calling task does not stop the conversion.
  @discardableResult
  public func processIntermediateDumps(
    annotations: [String: String] = [:], storingSymbols: Bool = true,
    userStreams: [any UserStreamDataSource] = [], pruning: PruneCondition = PruneCondition()
  ) async throws(CrashConverterError) -> [ProcessedDump] {
    try await OwnThread.run { () throws(CrashConverterError) in
      try CrashConverter.processIntermediateDumps(
        database: database, identifier: identifier, annotations: annotations,
        storingSymbols: storingSymbols, userStreams: userStreams, pruning: pruning)
    }
  }

  /// Creates the report for one dump that `dumpWithoutCrash()` took.
  ///
  /// Without this call, the report is created by the next call of `processIntermediateDumps`.
  ///
  /// - Parameters:
  ///   - reportID: the ID that `dumpWithoutCrash()` returned.
  ///   - annotations: annotations for the report, which replace the dump's annotations with the same names.
  ///   - userStreams: objects that add their own minidump streams to the report.
  /// - Returns: the result; nil if the database has no dump with this ID, for example because another process has
  ///   converted it. If the conversion fails, the next call of `processIntermediateDumps` tries again, unless the
  ///   result is `quarantined`.
  /// - Throws: `CrashConverterError` if the database cannot be used; the dump stays pending.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, DumpWithoutCrash.
  @discardableResult
  public func processIntermediateDump(
    _ reportID: ReportID, annotations: [String: String] = [:],
    userStreams: [any UserStreamDataSource] = []
  ) throws(CrashConverterError) -> ProcessedDump? {
    try CrashConverter.processIntermediateDump(
      reportID, database: database, annotations: annotations, userStreams: userStreams)
  }

  /// Creates the report for a dump file that `dumpWithoutCrash(to:)` wrote, and removes the file.
  ///
  /// - Parameters:
  ///   - path: the path of the dump.
  ///   - annotations: annotations for the report, which replace the dump's annotations with the same names.
  ///   - userStreams: objects that add their own minidump streams to the report.
  /// - Returns: the result; nil if another converter, in this or another process, took the dump first. If the
  ///   conversion fails, the next call of `processIntermediateDumps` tries again, with the copy of the dump in the
  ///   database, unless the result is `quarantined`.
  /// - Throws: `CrashConverterError` if the database cannot be used, or if the file cannot be read, is not a dump or
  ///   belongs to another user; the dump is then still at its path or in the database.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, ProcessIntermediateDump.
  @discardableResult
  public func processIntermediateDump(
    at path: String, annotations: [String: String] = [:],
    userStreams: [any UserStreamDataSource] = []
  ) throws(CrashConverterError) -> ProcessedDump? {
    try CrashConverter.processIntermediateDump(
      at: path, database: database, annotations: annotations, userStreams: userStreams)
  }

  /// Returns the last crashes of this program, newest first, whether or not their dumps were processed.
  ///
  /// ```swift
  /// let handler = try startHandler(database: directory)
  /// let soon = try handler.recentCrashes(limit: 3).filter { ($0.uptime ?? .zero) < .seconds(10) }
  /// let isSafeMode = soon.count == 3
  /// ```
  ///
  /// The call reads the first part of each dump of this program, and of the newest reports of all programs, which takes
  /// a millisecond or two for each. The call changes nothing, and any thread can make it. The result does not contain
  /// runs without a crash. To find crashes *in a row*, let the program record when its runs end without a crash, and
  /// compare `crashTime` with these times.
  ///
  /// - Parameter limit: the maximum number of crashes to return.
  /// - Returns: the crashes of programs with this handler's identifier, each crash only once.
  /// - Throws: `CrashConverterError` if the database cannot be read.
  public func recentCrashes(limit: Int = 20) throws(CrashConverterError) -> [RecentCrash] {
    try CrashConverter.recentCrashes(database: database, identifier: identifier, limit: limit)
  }
}
