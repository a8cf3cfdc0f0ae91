// What a program gets with one `import Postmortem`: the names below, the handler's, and nothing
// else of the rooms behind them.

@_exported import PostmortemHandler

@_exported import struct CrashConverter.CrashConverterError
@_exported import struct CrashConverter.CrashedProcess
@_exported import struct CrashConverter.ProcessedDump
@_exported import struct CrashConverter.RecentCrash
@_exported import protocol CrashConverter.UserStreamDataSource
@_exported import func CrashConverter.processIntermediateDumps
@_exported import func CrashConverter.recentCrashes
@_exported import struct CrashReportDatabase.PruneCondition
@_exported import struct ProcessSnapshot.UserStream
