public import CrashConverter
internal import CrashHandler

/// Returns the last crashes of this program, newest first, processed or not.
///
/// ```swift
/// try startHandler(database: folder)
/// let soon = try recentCrashes(limit: 3).filter { ($0.uptime ?? 0) < 10_000_000_000 }
/// let isSafeMode = soon.count == 3
/// ```
///
/// Reads the first part of each dump and of the newest reports, a millisecond or two each, on any
/// thread, and changes nothing. Knows nothing of runs that ended well: to find crashes *in a row*,
/// compare `crashTime` with the times of good runs.
///
/// - Parameter limit: the most crashes to return.
/// - Returns: crashes with this handler's identifier, each once.
/// - Throws: `CrashConverterError` if the database cannot be read, or `startHandler` has not
///   succeeded.
public func recentCrashes(limit: Int = 20) throws(CrashConverterError) -> [RecentCrash] {
  guard let handler = startedHandler() else { throw CrashConverterError.handlerNotStarted }
  return try recentCrashes(
    database: handler.database, identifier: handler.identifier, limit: limit)
}
