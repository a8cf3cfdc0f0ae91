internal import CrashReportDatabase
internal import Synchronization

/// An uploader at work, until it is stopped or the process ends.
///
/// It stops when the value is released too, so keep it.
public final class ReportUploader: Sendable {
  private let listeners: EventListeners
  private let work: Task<Void, Never>

  init(engine make: (@escaping @Sendable (UploadEvent) -> Void) -> UploadEngine) {
    let listeners = EventListeners()
    self.listeners = listeners
    let engine = make { listeners.emit($0) }
    work = Task.detached(priority: .background) {
      await Self.run(StandingUploads(engine: engine))
      listeners.finish()
    }
  }

  deinit { work.cancel() }

  /// What happens from now on; each call gives a sequence of its own.
  ///
  /// Of a listener that does not keep up the oldest events are dropped, beyond 1,000. The sequence
  /// ends with the uploader.
  public var events: AsyncStream<UploadEvent> { listeners.stream() }

  /// Stops, and returns when nothing is sent any more.
  ///
  /// Takes milliseconds, whatever the server does: an upload under way is broken off and done again
  /// by the next uploader.
  public func stop() async {
    work.cancel()
    await work.value
  }

  private static func run(_ uploads: StandingUploads) async {
    var uploads = uploads
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let watcher = PendingWatcher(uploads.engine.database) { wake.yield() }
    defer { withExtendedLifetime(watcher) {} }
    let clock = uploads.engine.clock
    var iterator = wakes.makeAsyncIterator()
    while !Task.isCancelled {
      let seconds = await uploads.pass()
      let timer = Task {
        await clock.sleep(seconds)
        wake.yield()
      }
      await iterator.next()
      timer.cancel()
    }
  }
}

/// Those who want to hear of events.
private final class EventListeners: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<UploadEvent>.Continuation] = [:]
    var next = 0
    var isFinished = false
  }
  private let state = Mutex(State())

  func stream() -> AsyncStream<UploadEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: UploadEvent.self, bufferingPolicy: .bufferingNewest(1000))
    let number = state.withLock { state -> Int? in
      guard !state.isFinished else { return nil }
      state.next += 1
      state.continuations[state.next] = continuation
      return state.next
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.continuations.removeValue(forKey: number) }
    }
    return stream
  }

  func emit(_ event: UploadEvent) {
    for continuation in state.withLock({ Array($0.continuations.values) }) {
      continuation.yield(event)
    }
  }

  func finish() {
    let all = state.withLock { state in
      state.isFinished = true
      return Array(state.continuations.values)
    }
    for continuation in all { continuation.finish() }
  }
}
