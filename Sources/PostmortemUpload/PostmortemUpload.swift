// The public names of `import PostmortemUpload`, besides those of `Postmortem`.

@_exported import struct CrashReportDatabase.CrashReportDatabase
@_exported import struct CrashReportDatabase.CrashReportDatabaseError
@_exported import class CrashReportUpload.ReportUploader
@_exported import struct CrashReportUpload.UploadError
@_exported import enum CrashReportUpload.UploadEvent
@_exported import struct CrashReportUpload.UploadOptions
@_exported import func CrashReportUpload.startProcessingPendingReports
