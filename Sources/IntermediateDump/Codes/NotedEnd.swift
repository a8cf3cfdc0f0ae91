/// How a process exited, as noted in its run record (`ownerNotes`).
package enum NotedEnd: UInt32, DumpCode {
  /// The process called exit(3) or returned from main.
  case exit = 1
  /// The process called `_exit`, `_Exit` or quick_exit(3), or was the parent in daemon(3); atexit(3) handlers did not
  /// run.
  case immediateExit = 2

  package var code: UInt32 { @_noLocks get { rawValue } }
}
