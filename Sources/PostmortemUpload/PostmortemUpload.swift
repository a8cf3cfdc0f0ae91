// What a program gets with `import PostmortemUpload`, beside `import Postmortem`: the names below,
// and nothing else of the rooms behind them.

@_exported import struct CrashReportDatabase.CrashReportDatabase
@_exported import struct CrashReportDatabase.CrashReportDatabaseError
@_exported import class CrashReportUpload.ReportUploader
@_exported import struct CrashReportUpload.UploadError
@_exported import enum CrashReportUpload.UploadEvent
@_exported import struct CrashReportUpload.UploadOptions
@_exported import func CrashReportUpload.startProcessingPendingReports
