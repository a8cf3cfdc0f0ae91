internal import CrashReportDatabase
public import IntermediateDump
internal import Synchronization

/// Uploads the pending reports of a database, and each later one, in the background.
///
/// Nothing is sent before uploads are enabled in the database's settings
/// (`CrashReportDatabase.setUploadsEnabled`), but for reports of `requestUpload`. Of all processes that
/// call this for one database one at a time sends; the others take over.
///
/// - Parameters:
///   - path: the database's directory.
///   - url: the address to which the form is posted, http or https. Redirects are not followed.
///   - options: the contents beside each report, and the pace.
/// - Returns: the uploader; it stops when it is released.
/// - Throws: `UploadError` if the URL or a header is invalid, or the database cannot be opened. A
///   network that is down is no error.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, StartProcessingPendingReports.
public func startProcessingPendingReports(
  database path: String, to url: String, options: UploadOptions = UploadOptions()
) throws(UploadError) -> ReportUploader {
  let target = try UploadTarget(url: url, options: options)
  let database: CrashReportDatabase
  do throws(CrashReportDatabaseError) {
    database = try CrashReportDatabase(path: path)
  } catch {
    throw UploadError(error)
  }
  return ReportUploader { emit in
    UploadEngine(database: database, target: target, emit: emit)
  }
}

/// An uploader at work, until it is stopped or the process ends.
///
/// Keep it: it stops when it is released.
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

  /// Events from now on; each call returns a sequence of its own, which ends with the uploader.
  ///
  /// A listener that falls behind by more than 1,000 events loses the oldest.
  public var events: AsyncStream<UploadEvent> { listeners.stream() }

  /// Stops, and returns when nothing is sent any more.
  ///
  /// Takes milliseconds, whatever the server does: an upload under way is broken off, and the next
  /// uploader sends it again.
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

/// A step of an uploader.
public enum UploadEvent: Sendable, Equatable, CustomStringConvertible {
  /// An upload begins; the bytes are those of the whole request body.
  case began(ReportID, attempt: Int, bytes: Int64)
  /// So many bytes of it have gone out; about once a MiB.
  case progressed(ReportID, sent: Int64, of: Int64)
  /// The server has the report; the ID is its name there, empty where the server gave none.
  case uploaded(ReportID, serverID: String)
  /// The upload failed; it is tried again after a time, in seconds since 1970.
  case delayed(ReportID, until: Int64, reason: String)
  /// The server refused the report; it is not tried again without `requestUpload`.
  case skipped(ReportID, reason: String)
  /// The database could not be read or written; it is tried again.
  case failed(reason: String)

  public var description: String {
    switch self {
    case .began(let id, let attempt, let bytes): "\(id): attempt \(attempt), \(bytes) bytes"
    case .progressed(let id, let sent, let total): "\(id): \(sent) of \(total) bytes"
    case .uploaded(let id, let serverID):
      serverID.isEmpty ? "\(id): uploaded" : "\(id): uploaded, the server calls it \(serverID)"
    case .delayed(let id, let time, let reason): "\(id): not before \(time): \(reason)"
    case .skipped(let id, let reason): "\(id): skipped: \(reason)"
    case .failed(let reason): "uploads are held up: \(reason)"
    }
  }
}

/// The sequences of events that were asked for.
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
