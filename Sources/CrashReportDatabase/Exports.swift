// Exports the module with the files of a database and the error type of all calls on them. The handler uses this
// module too.
@_exported public import PendingDumps
