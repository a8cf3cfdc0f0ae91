public import CrashConverter
internal import CrashHandler

/// The last crashes of this program, newest first, whether their dumps are processed or not.
///
/// ```swift
/// try startHandler(database: folder)
/// let soon = try recentCrashes(limit: 3).filter { ($0.uptime ?? 0) < 10_000_000_000 }
/// let isSafeMode = soon.count == 3
/// ```
///
/// Reads the first part of each of its dumps and newest reports, a millisecond or two each; changes
/// nothing. Any thread. Runs of which nothing is known, and those that ended well, are not counted: a program that wants
/// crashes *in a row* compares `crashTime` with what it knows of its good runs, or with the clock.
///
/// - Parameter limit: how many at most.
/// - Returns: crashes with this handler's identifier, each once.
/// - Throws: `CrashConverterError` if the database cannot be read, and before `startHandler` has
///   succeeded.
public func recentCrashes(limit: Int = 20) throws(CrashConverterError) -> [RecentCrash] {
  guard let handler = startedHandler() else { throw CrashConverterError.handlerNotStarted }
  return try recentCrashes(
    database: handler.database, identifier: handler.identifier, limit: limit)
}
