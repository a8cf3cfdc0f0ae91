import CrashTestSupport
import Foundation
import Postmortem
import PostmortemUpload
import Testing

/// The public interface as a program uses it; each test runs in a separate process, because a process has one
/// handler.
@Suite struct HandlerProcessingTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws { directory = try SharedDirectory() }

  @Test func withoutAHandlerProcessingIsAnError() async {
    await #expect(processExitsWith: .success) {
      #expect(Handler.current == nil)
      let error = #expect(throws: CrashConverterError.self) { try processIntermediateDumps() }
      #expect(error?.code == .handlerNotStarted && error?.errno == 0)
      let hang = #expect(throws: CrashHandlerError.self) { try HangMonitor.heartbeat(name: "x") }
      #expect(hang?.code == .notStarted)
    }
  }

  /// An exit test reports all its failures at the same location: the comments show which expectation failed.
  @Test func aCrashIsReadInTheProgramAtItsNextStart() async {
    // The second process may start minutes after the first, because all other tests run as well.
    let start = ContinuousClock.now
    await #expect(processExitsWith: .failure) { [database = database as String] in
      try startHandler(database: database, identifier: "app", product: "Shop", version: "1.2")
      crashHere()
    }
    await #expect(processExitsWith: .success) {
      [database = database as String, start = start as ContinuousClock.Instant] in
      let handler = try startHandler(database: database, identifier: "app")
      let crashes = try handler.recentCrashes(limit: 3)
      #expect(crashes.count == 1, "\(crashes)")
      #expect(
        crashes.allSatisfy {
          ($0.uptime ?? .zero) > .zero && $0.uptime ?? .zero < ContinuousClock.now - start
        },
        "\(crashes)")
      let processingStart = ContinuousClock.now
      let processed = try await handler.processIntermediateDumps()
      // Conversion stops looking up names after two seconds, which a busy machine may need.
      let isSlow = ContinuousClock.now - processingStart > .seconds(2)
      #expect(
        processed.map(\.outcome.kind) == [.complete], "\(processed)")
      let summary = try #require(processed.first?.summary)
      #expect(
        summary.program == "Shop" && summary.version == "1.2", "\(processed)")
      #expect(
        summary.signal == crashes.first?.signal && summary.signal != nil, "\(processed)")
      #expect(
        summary.message?.contains("the order is wrong") == true, "\(processed)")
      #expect(
        summary.cause != nil, "\(processed)")
      #expect(
        summary.signature?.contains("crashHere") == true || isSlow, "\(processed)")
      #expect(
        summary.place?.contains("HandlerProcessingTests.swift:") == true || isSlow, "\(processed)")
      #expect(
        summary.time == crashes.first?.crashTime, "\(processed)")
      let report = try CrashReportDatabase(path: handler.database).report(processed[0].reportID)
      let age = try #require(summary.time).duration(to: try #require(report).creationTime)
      #expect(
        age > .seconds(-1) && age < .seconds(1) + (ContinuousClock.now - start),
        "\(age)")
      #expect(try await handler.processIntermediateDumps().isEmpty)
    }
  }

  @Test func aDumpWithoutACrashIsAReportAtOnceOrLater() async {
    await #expect(processExitsWith: .success) { [database = database as String] in
      let handler = try startHandler(database: database, identifier: "app")
      #expect(handler.status.findings.isEmpty)
      let now = try handler.dumpWithoutCrash()
      let dump = try #require(try handler.processIntermediateDump(now))
      #expect(dump.outcome.kind == .complete && dump.reportID == now)
      #expect(dump.summary?.signal == nil && dump.summary?.signature?.hasPrefix("dump") == true)
      #expect(try handler.processIntermediateDump(now) == nil)
      let path = database + "/mine"
      let later = try handler.dumpWithoutCrash(to: path, stopsThreads: true)
      #expect(try handler.processIntermediateDump(at: path)?.reportID == later)
      let last = try handler.dumpWithoutCrash()
      #expect(try processAll().map(\.reportID) == [last])
      #expect(try handler.recentCrashes() == [])
    }
  }

  @Test func theProgramChoosesSignals() async throws {
    await #expect(processExitsWith: .success) { [database = database as String] in
      var options = HandlerOptions()
      options.reportsUncleanEnds = false
      options.signals = [.abort, .brokenPipe, HandledSignals(rawValue: 1)]
      let handler = try startHandler(database: database, identifier: "app", options: options)
      let taken = (Int32(1)...31).filter { action(of: $0) > 1 }
      #expect(taken == [SIGABRT, SIGPIPE], "\(taken)")
      // Signal 1 is no crash signal, and SIGSEGV now has the default action.
      #expect(handler.status.findings.isEmpty)
      _ = try handler.dumpWithoutCrash()
      #expect(try handler.processIntermediateDumps().map(\.outcome.kind) == [.complete])
      #expect(
        handler.counters.values.filter { $0.count > 0 }.map(\.outcome) == ["written", "complete"])
    }
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      var options = HandlerOptions()
      options.signals.remove(.segmentationFault)
      try startHandler(database: database, identifier: "app", options: options)
      raise(SIGSEGV)
    }
    // The handler recorded no crash, but the end of the run is reported.
    let processed = try processAll(of: database)
    #expect(processed.map(\.outcome.kind).filter { $0 != .ended } == [], "\(processed)")
  }

  @Test func aHandlerThatWasReplacedIsPutBack() async throws {
    await #expect(processExitsWith: .signal(SIGABRT)) { [database = database as String] in
      let handler = try startHandler(database: database, identifier: "app")
      let ours = action(of: SIGABRT)
      #expect(handler.reinstall() == [])
      signal(SIGABRT, SIG_IGN)
      signal(SIGFPE) { _ in }
      #expect(handler.status.findings.compactMap(\.signal) == [SIGABRT, SIGFPE])
      #expect(handler.reinstall() == [SIGABRT, SIGFPE])
      #expect(handler.status.findings.isEmpty && action(of: SIGABRT) == ours)
      abort()
    }
    let processed = try processAll(of: database)
    #expect(processed.map(\.summary?.signal) == [SIGABRT], "\(processed)")
  }

  @Test func theEnvironmentSwitchesItOff() async {
    await #expect(processExitsWith: .success) { [database = database as String] in
      unsafe setenv("POSTMORTEM_DISABLE", "1", 1)
      let error = #expect(throws: CrashHandlerError.self) { try startHandler(database: database) }
      #expect(error?.code == .disabled && Handler.current == nil)
      #expect(!FileManager.default.fileExists(atPath: database))
      unsafe setenv("POSTMORTEM_DISABLE", "0", 1)
      try startHandler(database: database)
    }
  }

  @Test func anUploaderStartsAndStops() async {
    await #expect(processExitsWith: .success) { [database = database as String] in
      let handler = try startHandler(database: database, identifier: "app")
      let error = #expect(throws: UploadError.self) {
        try handler.startProcessingPendingReports(to: "nowhere")
      }
      #expect(error?.code == .invalidURL)
      let uploader = try handler.startProcessingPendingReports(to: "http://127.0.0.1:9/")
      await uploader.stop()
      let other = try ReportUploader(database: handler.database, to: "http://127.0.0.1:9/")
      let run = Task { try await other.run() }
      run.cancel()
      try await run.value
    }
  }
}

/// In code that is not `async`, Swift selects the synchronous function.
private func processAll() throws -> [ProcessedDump] { try processIntermediateDumps() }
private func processAll(of database: String) throws -> [ProcessedDump] {
  try processIntermediateDumps(database: database, identifier: "app")
}

/// The address of the handler of a signal.
private func action(of signal: Int32) -> UInt {
  var action = sigaction()
  unsafe sigaction(signal, nil, &action)
  return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
}

@inline(never)
private func crashHere() -> Never { fatalError("the order is wrong") }
