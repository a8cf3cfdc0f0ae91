// Re-exports `PendingDumps`, which reads and writes the files of a database, and declares `CrashReportDatabaseError`.
// The handler uses `PendingDumps` too.
@_exported public import PendingDumps
