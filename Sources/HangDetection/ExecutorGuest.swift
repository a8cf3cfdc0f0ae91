/// An actor through which a monitor runs closures on a watched executor.
///
/// The stored closure keeps the executor alive.
@safe
actor ExecutorGuest {
  private nonisolated let executor: @Sendable () -> UnownedSerialExecutor

  init(of executor: @escaping @Sendable () -> UnownedSerialExecutor) {
    unsafe self.executor = executor
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor() }

  /// Makes the executor run a closure, as a job that is enqueued directly on the executor.
  ///
  /// A task whose closure is isolated to an actor starts on that actor's executor, and not first on the global
  /// executor, whose threads may all be blocked. The cast makes it possible to create such a closure outside the
  /// actor, as `assumeIsolated` does.
  ///
  /// Source: Swift Evolution SE-0431; swift stdlib/public/Concurrency/ExecutorAssertions.swift.
  nonisolated func ask(_ body: @escaping @Sendable () -> Void) {
    let start: (isolated ExecutorGuest) -> Void = { guest in
      Task {
        _ = guest
        body()
      }
    }
    unsafe unsafeBitCast(start, to: ((ExecutorGuest) -> Void).self)(self)
  }
}
