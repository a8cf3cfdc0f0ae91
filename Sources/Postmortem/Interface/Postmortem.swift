// `import Postmortem` provides the public names of the module `PostmortemHandler`, and the names below.

// The first two imports are for docc, which resolves links only to modules that this module imports directly. The
// landing page, `Postmortem.docc/Postmortem.md`, links to both modules.
internal import HangDetection
internal import PendingDumps
@_exported import PostmortemHandler

@_exported import struct CrashConverter.CrashConverterError
@_exported import struct CrashConverter.CrashedProcess
@_exported import struct CrashConverter.ProcessedDump
@_exported import struct CrashConverter.RecentCrash
@_exported import protocol CrashConverter.UserStreamDataSource
@_exported import func CrashConverter.processIntermediateDumps
@_exported import func CrashConverter.recentCrashes
@_exported import struct CrashReportDatabase.CrashReportDatabase
@_exported import struct CrashReportDatabase.PruneCondition
@_exported import struct CrashReportDatabase.ReportUpload
@_exported import struct CrashReportDatabase.StoredAttachment
@_exported import struct CrashReportDatabase.StoredReport
@_exported import struct PendingDumps.CrashReportDatabaseError
@_exported import struct ProcessSnapshot.UserStream
