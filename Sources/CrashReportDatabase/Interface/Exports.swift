// Re-exports `PendingDumps`, which reads and writes the files of a database, and declares `CrashReportDatabaseError`.
// `PendingDumps` is a separate module because the handler uses it too.
@_exported public import PendingDumps
