/// What happened after a signal that asks the process to end, as noted in the run record (`ownerNotes`).
package enum NotedReaction: UInt32, DumpCode {
  /// The signal's default action followed immediately.
  case defaultAction = 1
  /// The kernel discarded the signal, because the process was the first process of its PID namespace.
  case discarded = 2
  /// The program handled the signal itself, and called `noteTermination`.
  case program = 3

  package var code: UInt32 { @_noLocks get { rawValue } }
}
