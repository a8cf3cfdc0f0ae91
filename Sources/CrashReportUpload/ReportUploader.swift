internal import CrashReportDatabase
internal import PendingDumps
internal import Synchronization

/// Uploads the pending reports of a database, and each report that is added later.
///
/// Nothing is sent before uploads are enabled in the database's settings (`CrashReportDatabase.setUploadsEnabled`),
/// except for reports that `requestUpload` has requested. For each database, only one uploader in all processes sends
/// at a time; the others try again a few seconds later.
///
/// With structured concurrency, for example in a service group, call `run()`. Otherwise, call `start()`, which uploads
/// in the background.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, StartProcessingPendingReports.
public final class ReportUploader: Sendable {
  private let listeners: EventListeners
  private let engine: UploadEngine
  private let work = Mutex<Task<Void, Never>?>(nil)

  /// Creates an uploader, which does not send yet.
  ///
  /// - Parameters:
  ///   - path: the database's directory.
  ///   - url: the address to which the form is posted, http or https. Redirects are not followed.
  ///   - options: additional contents of each upload, and the pace of uploads.
  ///   - review: runs before each upload; nil to send all reports.
  /// - Throws: `UploadError` if the URL or a header is invalid, or the database cannot be opened. It is not an error
  ///   if the network is down.
  public convenience init(
    database path: String, to url: String, options: UploadOptions = UploadOptions(),
    review: UploadReview? = nil
  ) throws(UploadError) {
    let target = try UploadTarget(url: url, options: options)
    try self.init(database: path, target: target, review: review)
  }

  package convenience init(
    database path: String, target: UploadTarget, review: UploadReview?
  ) throws(UploadError) {
    let database: CrashReportDatabase
    do throws(CrashReportDatabaseError) {
      database = try CrashReportDatabase(path: path)
    } catch {
      throw UploadError(error)
    }
    self.init { UploadEngine(database: database, target: target, review: review, emit: $0) }
  }

  init(engine make: (@escaping @Sendable (UploadEvent) -> Void) -> UploadEngine) {
    let listeners = EventListeners()
    self.listeners = listeners
    engine = make { listeners.emit($0) }
  }

  deinit { work.withLock { $0?.cancel() } }

  /// Uploads until the task is canceled or `stop()` is called, and then returns.
  ///
  /// - Throws: `UploadError` if this uploader has been started before.
  public func run() async throws(UploadError) {
    let task = try begin()
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Uploads in the background until `stop()` is called or the uploader is released, so keep a reference to the
  /// uploader.
  ///
  /// - Throws: `UploadError` if this uploader has been started before.
  public func start() throws(UploadError) { _ = try begin() }

  private func begin() throws(UploadError) -> Task<Void, Never> {
    try work.withLock { work throws(UploadError) in
      guard work == nil else {
        throw UploadError(.alreadyStarted, "an uploader runs once; make another one")
      }
      let task = Task.detached(priority: .background) { [engine, listeners] in
        await Self.run(StandingUploads(engine: engine))
        listeners.finish()
      }
      work = task
      return task
    }
  }

  /// The events from now on; each access returns a separate sequence, which ends when the uploader ends.
  ///
  /// If a listener has more than 1,000 unread events, the oldest of these are dropped.
  public var events: AsyncStream<UploadEvent> { listeners.stream() }

  /// Stops the uploader, and returns when the uploader is no longer sending anything.
  ///
  /// Stopping takes milliseconds, whatever the server does: a running upload is interrupted, and the next uploader
  /// sends the report again. Only if a review is running does the call take longer, because it waits for the review.
  /// The call does nothing if the uploader was not started.
  public func stop() async {
    guard let task = work.withLock({ $0 }) else { return }
    task.cancel()
    await task.value
  }

  private static func run(_ uploads: StandingUploads) async {
    var uploads = uploads
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // If no watcher can be created, only the regular checks find changes.
    let watcher = DirectoryWatcher { wake.yield() }
    let database = uploads.engine.database.path
    // Watching the directories is enough: a report and its metadata appear by a rename or as a hard link, and settings
    // by a rename. Only the time of the last upload attempt is changed in place, and uploaders need not notice that.
    for path in [database, "\(database)/pending"] { watcher?.watch(path) }
    defer {
      withExtendedLifetime(watcher) {}
      UploadObstacle.current = nil
    }
    let clock = uploads.engine.clock
    var iterator = wakes.makeAsyncIterator()
    while !Task.isCancelled {
      let seconds = await uploads.pass()
      let timer = Task {
        await clock.sleep(seconds)
        // If an event ends the wait early, this timer is canceled, and its sleep ends. The timer must then not wake the
        // next iteration, because every iteration would end immediately.
        if !Task.isCancelled { wake.yield() }
      }
      await iterator.next()
      timer.cancel()
    }
  }
}

/// The sequences of events that callers have requested through `ReportUploader.events`.
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

extension UploadTarget {
  /// Creates a target for a server that accepts Crashpad's form.
  package init(url: String, options: UploadOptions) throws(UploadError) {
    try self.init(url, FormServer(), options)
  }
}
