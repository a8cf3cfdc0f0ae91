import CrashReportDatabase
import CrashTestSupport
import Glibc
import IntermediateDump
import Synchronization
import Testing

@testable import CrashReportUpload

/// A clock that advances only when the test advances it.
private final class HandClock: Sendable {
  let seconds = Mutex<Int64>(1_800_000_000)
  /// The number of sleeps that have started.
  let sleeps = Mutex(0)

  var clock: UploadClock {
    UploadClock(
      now: { self.seconds.withLock { $0 } },
      sleep: { _ in
        self.sleeps.withLock { $0 += 1 }
        // Sleeps until it is cancelled: only an event wakes the uploader.
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
      }, random: { 1 })
  }

  func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}

/// Answers according to a rule, and records the requests.
private final class ScriptedTransport: UploadTransport {
  let answers = Mutex<[Int]>([])
  let sent = Mutex<Int>(0)

  private let body: [UInt8]

  init(_ answers: [Int] = [], body: String = "") {
    self.answers.withLock { $0 = answers }
    self.body = Array(body.utf8)
  }

  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse {
    sent.withLock { $0 += 1 }
    let status = answers.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
    if status == 0 { throw UploadError(.noAnswer, "no network") }
    return UploadResponse(
      status: status, retryAfter: status == 429 ? "1000" : nil, body: body)
  }

  var count: Int { sent.withLock { $0 } }
}

@Suite struct StandingUploadsTests {
  private let hand = HandClock()

  private func make(
    _ uploads: UploadDatabase, _ transport: ScriptedTransport, interval: Int = 0
  ) throws -> StandingUploads {
    var options = UploadOptions()
    options.interval = .seconds(interval)
    return StandingUploads(
      engine: try uploads.engine(
        to: "http://h/", options: options, transport: transport, clock: hand.clock))
  }

  private func states(_ uploads: UploadDatabase) throws -> [Bool] {
    try uploads.database.reports().map(\.upload.isUploaded)
  }

  @Test func nothingGoesWithoutConsentButWhatWasAskedFor() async throws {
    let uploads = try UploadDatabase(enabled: false)
    let transport = ScriptedTransport()
    var standing = try make(uploads, transport)
    let asked = try uploads.addReport()
    let other = try uploads.addReport()
    _ = await standing.pass()
    #expect(transport.count == 0)
    #expect(try uploads.database.requestUpload(asked))
    _ = await standing.pass()
    #expect(try uploads.report(asked).upload.isUploaded && transport.count == 1)
    #expect(try uploads.report(other).state == .pending)
    try uploads.database.setUploadsEnabled(true)
    _ = await standing.pass()
    #expect(try uploads.report(other).upload.isUploaded && transport.count == 2)
    #expect(try !uploads.database.requestUpload(other), "the server has it")
  }

  @Test func thatUploadsAreDisabledIsSaidOnce() async throws {
    let uploads = try UploadDatabase(enabled: false)
    try uploads.addReport()
    let log = EventLog()
    var standing = StandingUploads(
      engine: try uploads.engine(
        to: "http://h/", transport: ScriptedTransport(), clock: hand.clock, events: log))
    for _ in 0..<3 { _ = await standing.pass() }
    #expect(log.events.map(\.kind) == [.failed])
    #expect(log.events.first?.reason?.contains("not enabled") == true)
    try uploads.database.setUploadsEnabled(true)
    _ = await standing.pass()
    #expect(log.events.last?.kind == .uploaded)
  }

  @Test func theIntervalDelaysAndDropsNothing() async throws {
    let uploads = try UploadDatabase()
    let transport = ScriptedTransport()
    for _ in 0..<3 { try uploads.addReport() }
    // Sets the test's clock to the system's, which the settings use: they ignore an attempt from the future.
    hand.seconds.withLock { $0 = UploadClock.system.now() }
    var standing = try make(uploads, transport, interval: 50)
    #expect(await standing.pass() == 50)
    #expect(transport.count == 1)
    // Another process with the same database waits, too.
    var other = try make(uploads, transport, interval: 50)
    #expect(await other.pass() == 50)
    #expect(transport.count == 1)
    try uploads.database.recordUploadAttempt(at: hand.seconds.withLock { $0 } - 50)
    _ = await other.pass()
    #expect(transport.count == 2)
    #expect(try uploads.database.reports().allSatisfy { $0.upload.note.isEmpty })
  }

  /// At the start of each second, `time` is up to one tick of the kernel behind `clock_gettime`.
  @Test func anAttemptOfNowIsNoneOfTheFutureAtTheBeginningOfASecond() throws {
    let uploads = try UploadDatabase()
    _ = try uploads.database.uploadsEnabled()
    var second = timespec(tv_sec: time(nil) + 1, tv_nsec: 0)
    while unsafe clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &second, nil) == EINTR {}
    let now = UploadClock.system.now()
    try uploads.database.recordUploadAttempt(at: now)
    #expect(try uploads.database.lastUploadAttemptTime()?.seconds == now)
  }

  @Test func aServerThatWantsNothingIsAskedOnceEvenByTheNextProcess() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<5 { try uploads.addReport() }
    let transport = ScriptedTransport([429])
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    #expect(transport.count == 1)
    var next = try make(uploads, transport)
    _ = await next.pass()
    hand.advance(999)
    _ = await next.pass()
    #expect(transport.count == 1)
    hand.advance(1)
    _ = await next.pass()
    #expect(transport.count == 6)
    #expect(try states(uploads) == [true, true, true, true, true])
  }

  @Test func aNetworkThatIsDownIsNotAskedForEveryReport() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<20 { try uploads.addReport() }
    let transport = ScriptedTransport(Array(repeating: 0, count: 12))
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    #expect(transport.count == 3)
    var waited: [Int64] = []
    while transport.count < 12 {
      let before = hand.seconds.withLock { $0 }
      let due =
        try uploads.database.reports().compactMap(\.upload.nextAttemptTime?.seconds).min() ?? 0
      hand.advance(max(1, due - before))
      waited.append(due - before)
      _ = await standing.pass()
    }
    #expect(waited.last ?? 0 > 4 * (waited.first ?? 0), "\(waited)")
    hand.advance(UploadBackoff.longest)
    _ = await standing.pass()
    #expect(try states(uploads).allSatisfy { $0 })
  }

  @Test func oneReportThatAlwaysFailsIsInNobodysWay() async throws {
    let uploads = try UploadDatabase()
    let first = try uploads.addReport()
    let transport = ScriptedTransport([500, 200, 200, 500])
    for _ in 0..<2 { try uploads.addReport() }
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    let failed = try uploads.database.reports().filter { $0.state == .pending }
    #expect(failed.count == 1 && transport.count == 3)
    hand.advance(60)
    _ = await standing.pass()
    let report = try uploads.report(try #require(failed.first?.id))
    #expect(report.upload.attempts == 2)
    #expect(report.upload.nextAttemptTime?.seconds == hand.seconds.withLock { $0 } + 120)
    _ = first
  }

  /// The address is wrong, or the key: no report is lost, whichever process meets the refusal.
  @Test(arguments: [401, 403, 404, 405, 410])
  func aRefusalOfTheAddressHoldsAllReportsAndProbesMoreAndMoreRarely(_ status: Int) async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<3 { try uploads.addReport() }
    let transport = ScriptedTransport(Array(repeating: status, count: 8))
    let start = hand.seconds.withLock { $0 }
    var waits: [Int64] = []
    for number in 1...8 {
      // Each process is a new one, and has a new report.
      try uploads.addReport()
      var standing = try make(uploads, transport)
      _ = await standing.pass()
      #expect(transport.count == number)
      let reports = try uploads.database.reports()
      #expect(reports.count == 3 + number && reports.allSatisfy { $0.state == .pending })
      #expect(Set(reports.map(\.upload.refusedSince)) == [Timestamp(seconds: start)])
      let next = Set(reports.map { $0.upload.nextAttemptTime?.seconds ?? 0 })
      #expect(next.count == 1)
      waits.append((next.first ?? 0) - hand.seconds.withLock { $0 })
      hand.advance(waits.last ?? 0)
    }
    #expect(waits == [60, 60, 120, 240, 480, 960, 1920, 3840])
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    let reports = try uploads.database.reports()
    #expect(reports.allSatisfy { $0.upload.isUploaded && $0.upload.refusedSince == nil })
    #expect(transport.count == 8 + 11)
  }

  /// A later refusal does not continue an earlier one.
  @Test func anAcceptedReportEndsTheRefusalOfTheOthers() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<3 { try uploads.addReport() }
    let transport = ScriptedTransport([403, 200, 403])
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    hand.advance(60)
    _ = await standing.pass()
    let waiting = try uploads.database.reports().filter { $0.state == .pending }
    #expect(waiting.count == 2 && transport.count == 3)
    let now = hand.seconds.withLock { $0 }
    #expect(waiting.allSatisfy { $0.upload.refusedSince == Timestamp(seconds: now) })
    #expect(waiting.allSatisfy { $0.upload.nextAttemptTime == Timestamp(seconds: now + 60) })
  }

  /// A collector answers 200 with a sentence and no ID.
  @Test func anUnclearAnswerLetsAReportWaitForAPersonAfterADay() async throws {
    let uploads = try UploadDatabase()
    let id = try uploads.addReport()
    let transport = ScriptedTransport(
      Array(repeating: 200, count: 40), body: "Thank you for the upload")
    var standing = try make(uploads, transport)
    var passed: Int64 = 0
    while try uploads.report(id).state == .pending {
      _ = await standing.pass()
      let due = try uploads.report(id).upload.nextAttemptTime?.seconds ?? 0
      let wait = max(1, due - hand.seconds.withLock { $0 })
      hand.advance(wait)
      passed += wait
      try #require(transport.count < 40)
    }
    #expect((12...16).contains(transport.count) && passed < 3 * 86_400)
    #expect(try !uploads.report(id).upload.isUploaded)
    // A person asks for another attempt.
    #expect(try uploads.database.requestUpload(id))
    #expect(try uploads.report(id).upload.refusedSince == nil)
    _ = await standing.pass()
    #expect(try uploads.report(id).state == .pending)
    #expect(try uploads.report(id).upload.refusedSince != nil)
  }

  /// Two days without a key, then an unclear answer: the day of the unclear answers begins with the first of them.
  @Test func aRefusalOfAllIsNoUnclearAnswer() async throws {
    let uploads = try UploadDatabase()
    let id = try uploads.addReport()
    let transport = ScriptedTransport([401, 206, 401], body: "Thank you for the upload")
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    hand.advance(2 * 86_400)
    _ = await standing.pass()
    let now = hand.seconds.withLock { $0 }
    #expect(try uploads.report(id).state == .pending && transport.count == 2)
    #expect(try uploads.report(id).upload.refusedSince == Timestamp(seconds: now))
    hand.advance(60)
    _ = await standing.pass()
    #expect(try uploads.report(id).upload.refusedSince == Timestamp(seconds: now + 60))
  }

  @Test func aTimeThatNobodyCanHaveSetIsNone() async throws {
    let uploads = try UploadDatabase()
    let id = try uploads.addReport()
    let now = hand.seconds.withLock { $0 }
    try uploads.database.delayUpload(id, until: now + 1_000_000, because: "a clock of 2099")
    let transport = ScriptedTransport()
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    #expect(transport.count == 1)
  }

  @Test func oneUploaderAtATime() async throws {
    let uploads = try UploadDatabase()
    try uploads.addReport()
    let transport = ScriptedTransport()
    var standing = try make(uploads, transport)
    do {
      guard let claim = try UploaderClaim.take(in: uploads.database) else { throw Busy() }
      _ = await standing.pass()
      #expect(transport.count == 0)
      _ = consume claim
    }
    _ = await standing.pass()
    #expect(transport.count == 1)
  }

  @Test(.timeLimit(.minutes(1)))
  func onceStartedEachNewReportGoesAndTheEndIsQuick() async throws {
    let uploads = try UploadDatabase()
    let transport = ScriptedTransport()
    var options = UploadOptions()
    options.interval = .zero
    let target = try UploadTarget(url: "http://h/", options: options)
    let clock = hand.clock
    let uploader = ReportUploader { emit in
      UploadEngine(
        database: uploads.database, target: target, transport: transport, clock: clock, emit: emit)
    }
    var events = uploader.events.makeAsyncIterator()
    let run = Task { try await uploader.run() }
    for number in 1...3 {
      let id = try uploads.addReport()
      while let event = await events.next() {
        if event.kind == .uploaded, event.reportID == id { break }
      }
      #expect(transport.count == number)
    }
    // A process withdraws the consent, and then gives it again.
    try uploads.database.setUploadsEnabled(false)
    let id = try uploads.addReport()
    try uploads.database.setUploadsEnabled(true)
    while let event = await events.next() {
      if event.kind == .uploaded, event.reportID == id { break }
    }
    await uploader.stop()
    try await run.value
    #expect(throws: UploadError.self) { try uploader.start() }
    #expect(await events.next() == nil)
    #expect(await uploader.events.first { _ in true } == nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func afterAnEventAnUploaderWaitsForTheNextOneAndDoesNotTurn() async throws {
    let uploads = try UploadDatabase()
    let target = try UploadTarget(url: "http://h/", options: UploadOptions())
    let clock = hand.clock
    let uploader = ReportUploader { emit in
      UploadEngine(
        database: uploads.database, target: target,
        transport: ScriptedTransport(Array(repeating: 0, count: 100)), clock: clock, emit: emit)
    }
    var events = uploader.events.makeAsyncIterator()
    try uploader.start()
    let id = try uploads.addReport()
    while let event = await events.next() {
      if event.kind == .delayed, event.reportID == id { break }
    }
    try await Task.sleep(for: .milliseconds(300))
    // Each pass sleeps once. A report causes some ten events of the directory, which arrive in fewer passes.
    #expect(hand.sleeps.withLock { $0 } < 30)
    await uploader.stop()
  }

  @Test func aClockThatIsSetBackHoldsNoReportAndDoesNotSendOneAgainAndAgain() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<4 { try uploads.addReport() }
    let transport = ScriptedTransport(Array(repeating: 0, count: 100))
    var standing = try make(uploads, transport)
    _ = await standing.pass()
    #expect(transport.count == 3)
    hand.advance(-10 * 365 * 86_400)
    _ = await standing.pass()
    let count = transport.count
    #expect(count > 3 && count <= 7, "times from the future are none")
    for _ in 0..<5 { #expect(await standing.pass() > 1) }
    #expect(transport.count == count)
  }

  @Test(.timeLimit(.minutes(1)))
  func aCancelledTaskEndsItsRun() async throws {
    let uploads = try UploadDatabase()
    let engine = try uploads.engine(to: "http://h/", transport: ScriptedTransport())
    let uploader = ReportUploader { _ in engine }
    let run = Task { try await uploader.run() }
    run.cancel()
    try await run.value
    #expect(await uploader.events.first { _ in true } == nil)
  }
}
