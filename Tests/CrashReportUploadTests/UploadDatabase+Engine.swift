import CrashReportDatabase
import CrashTestSupport
import IntermediateDump
import Synchronization

@testable import CrashReportUpload

extension UploadDatabase {
  /// An engine that sends the reports.
  func engine(
    to url: String? = nil, dsn: String? = nil, options: UploadOptions = UploadOptions(),
    transport: any UploadTransport = LibcurlTransport(), clock: UploadClock = .system,
    events: EventLog = EventLog()
  ) throws -> UploadEngine {
    UploadEngine(
      database: database,
      target: try dsn.map { try UploadTarget(dsn: $0, options: options) }
        ?? UploadTarget(url: url ?? "", options: options),
      transport: transport, clock: clock, emit: { events.add($0) })
  }

  /// Tries once to send one report.
  func send(_ id: ReportID, by engine: UploadEngine) async throws -> UploadEngine.Outcome {
    guard var claim = try UploaderClaim.take(in: database) else { throw Busy() }
    return try await engine.upload(try report(id), &claim, failures: 0)
  }
}

struct Busy: Error {}

/// The events of an engine, in order.
final class EventLog: Sendable {
  private let log = Mutex<[UploadEvent]>([])
  func add(_ event: UploadEvent) { log.withLock { $0.append(event) } }
  var events: [UploadEvent] { log.withLock { $0 } }
}
