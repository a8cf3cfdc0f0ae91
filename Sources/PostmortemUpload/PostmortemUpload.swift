// The public names of `import PostmortemUpload`, which do not include those of `Postmortem`.

@_exported import class CrashReportUpload.ReportUploader
@_exported import struct CrashReportUpload.UploadCandidate
@_exported import struct CrashReportUpload.UploadDecision
@_exported import struct CrashReportUpload.UploadError
@_exported import struct CrashReportUpload.UploadEvent
@_exported import struct CrashReportUpload.UploadOptions
@_exported import typealias CrashReportUpload.UploadReview
@_exported import struct CrashReportUpload.UploadSampling
