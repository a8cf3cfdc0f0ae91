internal import Glibc

// In a file of its own: closures of top-level code belong to the main actor.

/// Ends the process by exit(3) from another thread.
func exitOnAnotherThread() -> Never {
  var thread = pthread_t()
  unsafe pthread_create(&thread, nil, { _ in exit(6) }, nil)
  while true { pause() }
}
