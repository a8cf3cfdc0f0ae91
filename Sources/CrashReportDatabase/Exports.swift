// The files of a database, which the handler's own calls reach too, and the error of every call on them.
@_exported public import PendingDumps
