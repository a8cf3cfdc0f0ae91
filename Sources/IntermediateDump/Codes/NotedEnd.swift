/// How a process ended itself, as noted in its run record (`ownerNotes`).
package enum NotedEnd: UInt32, DumpCode {
  /// exit(3), or the return from main.
  case exit = 1
  /// `_exit`, `_Exit`, quick_exit(3) or the parent of daemon(3), which run no exit handlers.
  case immediateExit = 2

  package var code: UInt32 { @_noLocks get { rawValue } }
}
