import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import ProcessSnapshot
import Synchronization
import Testing

@testable import CrashReportUpload

/// A database with reports, and an engine that sends them.
struct UploadDatabase {
  let folder: SharedFolder
  let database: CrashReportDatabase

  init(enabled: Bool = true) throws {
    folder = try SharedFolder(inMemory: true)
    database = try CrashReportDatabase(path: folder.path + "/db")
    try database.setUploadsEnabled(enabled)
  }

  /// Makes a pending report.
  ///
  /// - Parameter extra: bytes of zeros behind the minidump, which take no disk.
  @discardableResult
  func addReport(
    annotations: [String: String] = ["one": "1"], extra: Int64 = 0
  ) throws -> ReportID {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    let id = ReportID()
    snapshot.reportID = id
    snapshot.clientID = try database.clientID()
    snapshot.process.product = "tests \"of\" uploads"
    snapshot.process.version = "1.2"
    snapshot.annotations = annotations
    let report = try database.prepareNewReport(id)
    try MinidumpWriter.write(snapshot, to: report.descriptor)
    if extra > 0 {
      let size = lseek(report.descriptor, 0, SEEK_END)
      ftruncate(report.descriptor, off_t(Int64(size) + extra))
    }
    try report.finish()
    return id
  }

  func report(_ id: ReportID) throws -> StoredReport { try #require(try database.report(id)) }

  func bytes(_ id: ReportID) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: try report(id).path)))
  }

  func engine(
    to url: String, options: UploadOptions = UploadOptions(),
    transport: any UploadTransport = URLSessionTransport(), clock: UploadClock = .system,
    events: EventLog = EventLog()
  ) throws -> UploadEngine {
    UploadEngine(
      database: database, target: try UploadTarget(url: url, options: options),
      transport: transport, clock: clock, emit: { events.add($0) })
  }

  /// Sends one report once.
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
