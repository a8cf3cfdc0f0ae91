public import CrashConverter
public import CrashHandler
public import CrashReportDatabase
public import IntermediateDump

extension Handler {
  /// Makes reports of the dumps that earlier runs of this program left in the database.
  ///
  /// The call takes tens of milliseconds for each dump. Any number of threads and processes may make it at the same
  /// time: each dump becomes one report. It converts this program's dumps first, then at most 20 finished dumps of
  /// other programs in the same database. It uploads nothing.
  ///
  /// - Parameters:
  ///   - annotations: added to every report; they replace a dump's annotations of the same names.
  ///   - storingSymbols: whether each report keeps the functions and lines of its crashing thread, while the crashed
  ///     build still exists; this takes at most about 2 seconds per dump.
  ///   - userStreams: add streams to every report.
  ///   - pruning: the limits of the database. Afterward, reports beyond these limits are removed, of any program and
  ///     whether they were uploaded or not.
  /// - Returns: a result for each dump, which can be printed as one line. A dump that failed is not an error: it is
  ///   tried again at the next call.
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

  /// Does the same for `async` code, on a separate thread, because it waits for the disk.
  ///
  /// The work continues to its end if the task is canceled. Code that is not `async` calls the other form.
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

  /// Immediately makes a report of one dump that `dumpWithoutCrash()` wrote.
  ///
  /// - Parameters:
  ///   - reportID: the ID that `dumpWithoutCrash()` returned.
  ///   - annotations: added to the report; they replace the dump's annotations of the same names.
  ///   - userStreams: add streams to the report.
  /// - Returns: the result; nil if another converter was faster. A failed conversion is tried again
  ///   with the pending dumps.
  /// - Throws: `CrashConverterError` if no dump can be processed at all; the dump stays pending.
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

  /// Makes a report of a file that `dumpWithoutCrash(to:)` has written, and removes the file.
  ///
  /// - Parameters:
  ///   - path: the path of the dump.
  ///   - annotations: added to the report; they replace the dump's annotations of the same names.
  ///   - userStreams: add streams to the report.
  /// - Returns: the result; nil if another converter was faster. A failed conversion is tried again
  ///   with the pending dumps.
  /// - Throws: `CrashConverterError` if the file is missing or not a dump; such a file is kept.
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
  /// The call reads the first part of each dump and of the newest reports, which takes a millisecond or two each. It
  /// changes nothing, and any thread can make it. Runs without a crash are not in the result: to find crashes *in a
  /// row*, compare `crashTime` with the times of good runs.
  ///
  /// - Parameter limit: the maximum number of crashes to return.
  /// - Returns: crashes with this handler's identifier, each once.
  /// - Throws: `CrashConverterError` if the database cannot be read.
  public func recentCrashes(limit: Int = 20) throws(CrashConverterError) -> [RecentCrash] {
    try CrashConverter.recentCrashes(database: database, identifier: identifier, limit: limit)
  }
}
