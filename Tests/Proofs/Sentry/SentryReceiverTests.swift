import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Uploads real crashes to a real Bugsink, and reads them in its database.
@Suite(.needs(.bugsink))
struct SentryReceiverTests {
  private let crashes: SentryCrashes

  init() throws { crashes = try SentryCrashes() }

  @Test func messagePlaceLinesTagsAndBreadcrumbsArriveOneCauseIsOneIssue() async throws {
    try await crashes.crash("index-out-of-range")
    try await crashes.crash("index-out-of-range")
    try await crashes.crash("null-read")
    try await crashes.tell()
    let ids = try await crashes.process()
    try #require(ids.count == 4)
    let server = try BugsinkServer(in: crashes.subdirectory("bugsink"))
    let sent = try await crashes.upload(ids, ["--dsn", server.dsn])
    #expect(sent.end.exitCode == 0, "\(sent.standardOutput)\(sent.standardError)")
    let issues = try await server.issues()
    #expect(issues.map(\.events.count).sorted() == [1, 1, 2], "\(issues.map(\.title))")
    let ours = Set(ids.map { $0.filter { $0 != "-" }.lowercased() })
    #expect(Set(issues.flatMap(\.events).map(\.id)) == ours)
    let range = try #require(issues.first { $0.events.count == 2 })
    #expect(range.title.contains("Fatal error: Index out of range"), "\(range.title)")
    #expect(range.function.contains("crash_index_out_of_range"), "\(range.function)")
    for event in range.events {
      let own = try #require(
        event.frames.last { $0.function.contains("crash_index_out_of_range") })
      #expect(own.file == "RuntimeKinds.swift" && own.line > 0)
      #expect(event.tags["signal"] == "SIGILL" && event.level == "fatal")
      #expect(event.tags["cause"] == "swift-index-out-of-range")
      #expect(event.release == "CrashLab@1.0")
    }
    let told = try #require(issues.first { !($0.events[0].breadcrumbs.isEmpty) })
    #expect(told.events[0].tags["tenant"] != nil, "\(told.events[0].tags)")
  }

  @Test func aWrongKeyLosesNothingAndARequestToQuitIsNoCrash() async throws {
    try await crashes.crash("sent-quit")
    let ids = try await crashes.process()
    let server = try BugsinkServer(in: crashes.subdirectory("bugsink"))
    for dsn in [server.dsn(key: "0123456789abcdef0123456789abcdef"), server.dsn] {
      #expect(try crashes.reports.map(\.state) == [.pending])
      let sent = try await crashes.upload(ids, ["--dsn", dsn])
      #expect((sent.end.exitCode == 0) == (dsn == server.dsn), "\(sent)")
    }
    #expect(try crashes.reports.map(\.state) == [.completed])
    let events = try await server.issues().flatMap(\.events)
    let event = try #require(events.count == 1 ? events.first : nil, "\(events)")
    #expect(event.level == "info" && event.tags["signal"] == "SIGQUIT", "\(event)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: try #require(crashes.reports.first).path))
    let time = try #require(try MinidumpReader.snapshot(of: [UInt8](bytes)).process.crashTime)
    #expect(event.crashTime?.prefix(19) == TimeText.utc(nanoseconds: time).prefix(19))
  }

  @Test func theRequestIsATagAndForceSendsAgain() async throws {
    try await crashes.crashInContext()
    let ids = try await crashes.process()
    let server = try BugsinkServer(in: crashes.subdirectory("bugsink"))
    let sent = try await crashes.upload(ids, ["--dsn", server.dsn])
    #expect(sent.end.exitCode == 0, "\(sent.standardOutput)\(sent.standardError)")
    let events = try await server.issues().flatMap(\.events)
    let tagged = events.filter { $0.tags["context.child"] == "own" }
    #expect(events.count == ids.count && tagged.count == 1, "\(events.map(\.tags))")
    let id = try #require(
      ids.first { $0.filter { $0 != "-" }.lowercased() == tagged.first?.id })
    #expect(try await crashes.upload([id], ["--dsn", server.dsn]).end.exitCode == 1)
    let again = try await crashes.upload([id], ["--force", "--dsn", server.dsn])
    #expect(again.end.exitCode == 0, "\(again.standardOutput)\(again.standardError)")
    #expect(try crashes.reports.allSatisfy { $0.state == .completed })
  }

  @Test(.enabled("in the whole proof") { !ProofExtent.isSample })
  func crashpadsFormArrivesToo() async throws {
    try await crashes.crash("index-out-of-range")
    let ids = try await crashes.process()
    let server = try BugsinkServer(in: crashes.subdirectory("bugsink"))
    let sent = try await crashes.upload(ids, ["--url", server.minidumpURL])
    #expect(sent.end.exitCode == 0, "\(sent.standardOutput)\(sent.standardError)")
    let issues = try await server.issues()
    #expect(issues.flatMap(\.events).count == 1)
    #expect(issues.first?.title.contains("SIGILL") == true, "\(issues.map(\.title))")
  }
}
