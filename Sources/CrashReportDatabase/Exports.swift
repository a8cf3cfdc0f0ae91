// Re-exports `PendingDumps`, which contains the code that reads and writes a database's files, and the error type that
// these calls throw. The handler uses this module too.
@_exported public import PendingDumps
