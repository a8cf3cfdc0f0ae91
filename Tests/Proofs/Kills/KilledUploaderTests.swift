import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// An uploader is killed as it enters each system call that changes or sends something; all of 100 reports still
/// arrive.
///
/// Each report tests one of these calls. With `POSTMORTEM_UPLOAD_KILLS=all swift test --filter
/// KilledUploaderTests`, each report's uploader is killed at one call after the other until one run completes.
@Suite(.needs(.strace), .needs(.python3))
struct KilledUploaderTests {
  private static let calls: Set<String> = [
    "write", "pwrite64", "writev", "fsync", "link", "linkat", "rename", "renameat", "renameat2",
    "unlink", "unlinkat", "mkdir", "mkdirat", "sendto", "sendmsg", "recvfrom", "connect",
  ]

  private let uploads: UploadDatabase
  private let server: PythonServer

  init() throws {
    uploads = try UploadDatabase()
    server = try PythonServer(in: uploads.directory)
  }

  private func place(_ isEnvelope: Bool) -> [String] {
    isEnvelope ? ["--dsn", server.dsn("ok")] : ["--url", server.url("ok")]
  }

  /// Runs `postmortem upload` under strace(1).
  ///
  /// - Parameter isEnvelope: true for a Sentry envelope.
  private func upload(
    _ id: ReportID, _ options: [String], isEnvelope: Bool
  ) async throws -> ChildProcess {
    let words =
      ["-f", "-qq", "-e", "signal=none"] + options + [
        try BuiltProducts.besideTests("postmortem"), "upload", uploads.database.path, "\(id)",
      ] + place(isEnvelope)
    // One thread does all of the uploader's own work, so a call's number in its thread identifies the step.
    return try await ChildProcess.run(
      try #require(OutsideTool.strace.path), words, in: uploads.directory.path,
      environment: [
        "SWIFT_BACKTRACE": "enable=no", "LIBDISPATCH_COOPERATIVE_POOL_STRICT": "1",
      ])
  }

  /// The calls of one upload, each with its number within its thread.
  private func steps(_ isEnvelope: Bool) async throws -> [(name: String, number: Int)] {
    let id = try uploads.addReport()
    let trace = uploads.directory.path + "/trace"
    let child = try await upload(
      id, ["-y", "-e", "trace=" + Self.calls.joined(separator: ","), "-o", trace],
      isEnvelope: isEnvelope)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    var counts: [String: Int] = [:]
    var steps: [String: (name: String, number: Int)] = [:]
    for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
      guard let match = line.firstMatch(of: /^([0-9]+) +([a-z0-9_]+)\(/) else { continue }
      let name = String(match.2)
      counts["\(match.1) \(name)", default: 0] += 1
      let number = counts["\(match.1) \(name)", default: 0]
      // Dispatch writes to an eventfd to wake a thread. This changes nothing, and how often it happens depends on
      // the machine's load.
      if line.contains("[eventfd]") { continue }
      steps["\(name) \(number)"] = (name, number)
    }
    return steps.values.sorted { ($0.number, $0.name) < ($1.number, $1.name) }
  }

  @Test(arguments: [false, true])
  func atEveryStepAllReportsArriveAndTheServerCanTellThoseThatItHas(isEnvelope: Bool) async throws {
    let steps = try await steps(isEnvelope)
    #expect(steps.count > 20, "\(steps)")
    let all = ProcessInfo.processInfo.environment["POSTMORTEM_UPLOAD_KILLS"] == "all"
    let ids = try (0..<100).map { _ in try uploads.addReport() }
    var killed: Set<String> = []
    var kills = 0
    for (index, id) in ids.enumerated() {
      // Each report starts at another step, because the steps after a completed run are not tested.
      let order = steps[(index % steps.count)...] + steps[..<(index % steps.count)]
      let chosen =
        all ? Array(order) : stride(from: index, to: steps.count, by: ids.count).map { steps[$0] }
      for step in chosen {
        // The killed run had already completed the upload, so no further step can be tested.
        if try uploads.report(id).upload.isUploaded, try uploads.report(id).state == .completed {
          break
        }
        let child = try await upload(
          id, ["-o", "/dev/null", "-e", "inject=\(step.name):signal=KILL:when=\(step.number)"],
          isEnvelope: isEnvelope)
        guard child.end.signal == 9 else { continue }
        killed.insert("\(step.name) \(step.number)")
        kills += 1
      }
    }
    print("killed at \(killed.count) of \(steps.count) steps, \(kills) times")
    // The threads that make the calls differ from run to run, so some steps never occur.
    #expect(killed.count > steps.count / 3, "\(killed)")
    let rest = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"),
      ["upload", uploads.database.path] + place(isEnvelope), in: uploads.directory.path)
    #expect(rest.end.exitCode == 0, "\(rest.standardError)")
    let reports = try uploads.database.reports()
    #expect(reports.count == 101 && reports.allSatisfy { $0.state == .completed })
    #expect(reports.allSatisfy { $0.upload.isUploaded && $0.upload.serverID == "bp-of-the-test" })
    let arrived = try server.forms
    #expect(Set(arrived.compactMap { $0.fields["report_id"] }) == Set(reports.map { "\($0.id)" }))
    let sizes = Dictionary(uniqueKeysWithValues: reports.map { ("\($0.id)", Int($0.size)) })
    for form in arrived {
      let id = try #require(form.fields["report_id"])
      #expect(form.defects == [] && form.files["upload_file_minidump"]?.size == sizes[id])
    }
    #expect(uploads.directory.names("db/pending").allSatisfy { $0.hasSuffix(".meta") })
    #expect(!uploads.directory.names("db/new").contains { $0.contains(".upload.tmp") })
  }

  @Test func memoryStaysFlatForAReportOf100MB() async throws {
    let small = try uploads.addReport()
    let large = try uploads.addReport(extra: 100 << 20)
    var peaks: [Int] = []
    for id in [small, large] {
      // The child prints its own peak at the end, so the measurement needs no strace.
      let child = try await ChildProcess.run(
        "/usr/bin/env",
        [
          "python3", "-c",
          "import os,sys,resource;p=os.spawnv(os.P_WAIT,sys.argv[1],sys.argv[1:]);"
            + "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,p)",
          try BuiltProducts.besideTests("postmortem"), "upload", uploads.database.path, "\(id)",
          "--url", server.url("ok"),
        ], in: uploads.directory.path)
      let line = try #require(child.standardOutput.split(separator: "\n").last)
      let words = line.split(separator: " ").compactMap { Int($0) }
      try #require(words.count == 2 && words[1] == 0, "\(child.standardError)\(line)")
      peaks.append(words[0])
    }
    #expect(peaks[1] - peaks[0] < 30_000, "KiB: \(peaks)")
  }
}
