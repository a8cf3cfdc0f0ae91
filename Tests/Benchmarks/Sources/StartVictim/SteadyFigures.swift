import Glibc
import PostmortemHandler
import Synchronization

/// Prints the costs of a process with a handler while nothing happens, in one line.
///
/// The line has nanoseconds per call for setting a number annotation and a text annotation, for a breadcrumb, for
/// storing a number under a lock, for a context, for a breadcrumb in it and for an error that is thrown and
/// caught, each on 1 thread and on 8 at once; then for a context in a task. It continues with the nanoseconds of
/// CPU time for creating and joining a thread, the KiB that `startHandler` made dirty, and the bytes for each
/// live thread.
enum SteadyFigures {
  private static let calls = 100_000
  private static let connections = Annotation<Int>("connections")
  private static let route = Annotation<String>("route", capacity: 64)
  private static let number = Mutex(0)
  private static let requestID = "8C2E5A54-1A0B-4F5C-9C07-2F5E3F6C1D11"

  static func print(_ database: String?) throws {
    _ = Memory.now()
    let before = Memory.now()
    if let database {
      var options = HandlerOptions()
      options.recordsThrowSites = true
      try startHandler(database: database, options: options)
    }
    let started = Memory.now().dirty - before.dirty
    var figures: [Int] = []
    for threads in [1, 8] {
      figures.append(cost(threads) { connections.set($0) })
      figures.append(cost(threads) { _ in route.set("GET /orders/4711") })
      figures.append(cost(threads) { _ in leaveBreadcrumb("GET /orders/4711 200") })
      figures.append(cost(threads) { value in number.withLock { $0 = value } })
      figures.append(cost(threads) { _ in withContext("request-id", requestID) {} })
      figures.append(
        cost(threads, around: { work in withContext("request-id", requestID, operation: work) }) {
          _ in
          leaveBreadcrumb("GET /orders/4711 200")
        })
      figures.append(cost(threads) { value in try? fail(value) })
    }
    figures.append(taskCost())
    figures += [threadTime(), started, threadMemory()]
    Swift.print(figures.map(String.init).joined(separator: " "))
  }

  private struct Failure: Error { let number: Int }

  @inline(never)
  private static func fail(_ number: Int) throws {
    throw Failure(number: number)
  }

  /// Counts the CPU time of the calling threads, so that other programs do not matter.
  private static func cost(
    _ threads: Int, around: @escaping @Sendable (() -> Void) -> Void = { $0() },
    _ call: @escaping @Sendable (Int) -> Void
  ) -> Int {
    let total = Atomic(0)
    let all = (0..<threads).map { _ in
      Work {
        around {
          for value in 0..<1000 { call(value) }
          let start = processorTime(CLOCK_THREAD_CPUTIME_ID)
          for value in 0..<calls { call(value) }
          total.add(processorTime(CLOCK_THREAD_CPUTIME_ID) - start, ordering: .relaxed)
        }
      }.start()
    }
    for thread in all { pthread_join(thread, nil) }
    return total.load(ordering: .relaxed) / (threads * calls)
  }

  /// The cost of a context in a task.
  private static func taskCost() -> Int {
    let total = Atomic(-1)
    Task.detached {
      for _ in 0..<1000 { withContext("request-id", requestID) {} }
      let start = processorTime(CLOCK_THREAD_CPUTIME_ID)
      for _ in 0..<calls { withContext("request-id", requestID) {} }
      total.store(
        (processorTime(CLOCK_THREAD_CPUTIME_ID) - start) / calls, ordering: .releasing)
    }
    while total.load(ordering: .acquiring) < 0 { usleep(1000) }
    return total.load(ordering: .relaxed)
  }

  private static func threadTime() -> Int {
    let count = 500
    let start = processorTime(CLOCK_PROCESS_CPUTIME_ID)
    for _ in 0..<count { pthread_join(Work {}.start(), nil) }
    return (processorTime(CLOCK_PROCESS_CPUTIME_ID) - start) / count
  }

  private static func threadMemory() -> Int {
    let count = 64
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let (reading, writing) = (ends[0], ends[1])
    let before = Memory.now()
    let waiting = Atomic(0)
    let all = (0..<count).map { _ in
      Work {
        waiting.add(1, ordering: .releasing)
        var byte: UInt8 = 0
        read(reading, &byte, 1)
      }.start()
    }
    while waiting.load(ordering: .acquiring) < count { usleep(1000) }
    let grown = Memory.now().dirty - before.dirty
    close(writing)
    for thread in all { pthread_join(thread, nil) }
    return grown * 1024 / count
  }
}

/// The body of a thread.
private final class Work: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func start() -> pthread_t {
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    guard result == 0 else { fatalError("pthread_create: \(result)") }
    return thread
  }
}
