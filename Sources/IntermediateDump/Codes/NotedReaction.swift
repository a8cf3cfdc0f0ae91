/// The reaction to a signal that asks the process to end, as noted in its run record (`ownerNotes`).
package enum NotedReaction: UInt32, DumpCode {
  /// The default action follows immediately.
  case defaultAction = 1
  /// Nothing followed, because the process was the first of its PID namespace.
  case discarded = 2
  /// The program handles the signal itself: it called `noteTermination`.
  case program = 3

  package var code: UInt32 { @_noLocks get { rawValue } }
}
