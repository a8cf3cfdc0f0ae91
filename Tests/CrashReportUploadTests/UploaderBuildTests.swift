import CrashReportDatabase
import CrashTestSupport
import Glibc
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Synchronization
import Testing

@testable import CrashReportUpload

/// A transport with a build ID, which a test can make unusable.
private final class BuiltTransport: UploadTransport {
  let obstacle = Mutex<String?>(nil)
  let sent = Mutex(0)

  func check() throws(UploadError) -> [UInt8] {
    if let text = obstacle.withLock({ $0 }) { throw UploadError(.noTransport, text) }
    return [7, 7]
  }

  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse {
    sent.withLock { $0 += 1 }
    return UploadResponse(status: 200)
  }
}

/// Uploaders that cannot send, and those that have crashed.
@Suite(.serialized) struct UploaderBuildTests {
  private let uploads: UploadDatabase
  private let transport = BuiltTransport()
  private let events = EventLog()

  init() throws { uploads = try UploadDatabase() }

  /// - Parameter later: the number of seconds after now.
  private func standing(later: Int64 = 0) throws -> StandingUploads {
    var options = UploadOptions()
    options.interval = .zero
    let clock = UploadClock(now: { Int64(time(nil)) + later }, sleep: { _ in }, random: { 1 })
    return StandingUploads(
      engine: try uploads.engine(
        to: "http://h/", options: options, transport: transport, clock: clock, events: events))
  }

  private var sent: Int { transport.sent.withLock { $0 } }

  /// Adds the report of a crash of this program's uploader.
  @discardableResult
  private func addCrash(library: [UInt8] = [7, 7], program: [UInt8]? = nil) throws -> ReportID {
    let own = program ?? UploaderBuild.current(library: []).program
    return try uploads.addReport { snapshot in
      var exception = ExceptionSnapshot(threadID: 5)
      exception.signal = SIGSEGV
      snapshot.exception = exception
      var thread = ThreadSnapshot(id: 5)
      thread.name = UploaderThread.name
      snapshot.threads = [thread]
      var main = ModuleSnapshot(address: 0x1000, size: 0x1000, path: "/srv/app", buildID: own)
      main.source = .program
      snapshot.modules = [main]
      if !library.isEmpty {
        snapshot.modules.append(
          ModuleSnapshot(
            address: 0x9000, size: 0x1000, path: "/lib/libcurl.so.4", buildID: library))
      }
    }
  }

  @Test func anObstacleHoldsReportsWithoutAnAttemptAndIsToldOnce() async throws {
    let id = try uploads.addReport()
    try uploads.database.delayUpload(id, until: 1, because: "earlier")
    transport.obstacle.withLock { $0 = "no library" }
    var standing = try standing()
    for _ in 0..<2 { #expect(await standing.pass() == StandingUploads.longestWaitSeconds) }
    let upload = try uploads.report(id).upload
    #expect(upload.note == "no library; a separate process can upload: postmortem watch")
    #expect(upload.attempts == 0 && upload.nextAttemptTime == Timestamp(seconds: 1))
    #expect(events.events == [.failed(reason: upload.note)])
    #expect(UploadObstacle.current == upload.note)
    // The claim is free, so that another process can upload.
    #expect(try UploaderClaim.take(in: uploads.database) != nil)
    transport.obstacle.withLock { $0 = nil }
    _ = await standing.pass()
    #expect(sent == 1 && UploadObstacle.current == nil)
    #expect(try uploads.report(id).upload.note.isEmpty)
  }

  @Test func twoCrashesOfABuildPauseItForADay() async throws {
    let crashes = [try addCrash(), try addCrash(library: [])]
    var standing = try standing()
    _ = await standing.pass()
    #expect(sent == 0)
    let note = try uploads.report(crashes[0]).upload.note
    #expect(note.hasPrefix("no uploads before ") && note.contains("\(crashes[1])"), "\(note)")
    var next = try self.standing(later: 24 * 3600 + 5)
    _ = await next.pass()
    #expect(sent == 2)
    #expect(try uploads.database.reports().allSatisfy { !$0.upload.isUploaderCrash })
  }

  @Test func crashesOfOtherBuildsDoNotCount() async throws {
    let others = [
      try addCrash(), try addCrash(library: [8]), try addCrash(program: [1, 2, 3]),
      try uploads.addReport(),
    ]
    var standing = try standing()
    _ = await standing.pass()
    #expect(sent == 4)
    // An upload ends the count of this build alone.
    #expect(
      try others.map { try uploads.report($0).upload.isUploaderCrash } == [
        false, true, true, false,
      ])
  }

  @Test func aPauseEndsADayAfterTheLastCrash() throws {
    let crashes = [
      try uploads.report(try addCrash()), try uploads.report(try addCrash()),
    ]
    let last = try #require(crashes.map(\.creationTime.seconds).max())
    #expect(UploaderBuild.pauseEnd(after: crashes, now: last) == last + 86_400)
    #expect(UploaderBuild.pauseEnd(after: crashes, now: last + 86_399) == last + 86_400)
    #expect(UploaderBuild.pauseEnd(after: crashes, now: last + 86_400) == nil)
    #expect(UploaderBuild.pauseEnd(after: [crashes[0]], now: last) == nil)
    // Reports from the future have wrong times.
    #expect(UploaderBuild.pauseEnd(after: crashes, now: last - 10) == nil)
  }
}
