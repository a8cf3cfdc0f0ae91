// Exports the files of a database, which the handler also uses, and the error type of all calls on them.
@_exported public import PendingDumps
