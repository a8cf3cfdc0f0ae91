/// What a task of Swift concurrency does or waits for; part of the values of the key `allTasks`.
public enum TaskState: UInt8, DumpCode {
  /// A thread runs the task.
  case running = 1
  /// The task waits for a thread of the cooperative pool.
  case ready = 2
  /// The task waits for its turn on an actor or another serial executor.
  case awaitsActor = 3
  /// The task waits for the result of another task.
  case awaitsTask = 4
  /// The task waits for the next result of a task group.
  case awaitsGroup = 5
  /// The task waits until a continuation is resumed.
  case awaitsContinuation = 6
  /// The task is suspended, but the runtime has not recorded what the task waits for.
  case suspended = 7

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
