import CrashAnalysis
import CrashCatalogue
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashReportUpload
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Stackwalk
import Testing

/// Crashes of a program with secrets in memory, in registers and in its annotations: the full report contains
/// them, a private one contains none in any of its forms.
@Suite struct PlantedSecretsTests {
  struct Death: Sendable, CustomTestStringConvertible {
    let kind: String
    var place = CrashPlace.main
    /// The function that must be on the stack.
    let function: String
    var testDescription: String { "\(kind) on \(place.rawValue)" }
  }

  static let deaths = [
    Death(kind: "null-read", function: "crash_null_read"),
    Death(kind: "null-call", place: .pthread, function: "crash_null_call"),
    Death(kind: "wild-pointer", function: "crash_wild_pointer"),
    Death(kind: "abort", place: .dispatch, function: "crash_abort"),
    Death(kind: "double-free", function: "crash_double_free"),
    Death(kind: "fatal-error", function: "crash_fatal_error"),
    Death(kind: "index-out-of-range", place: .pthread, function: "crash_index_out_of_range"),
    Death(kind: "cxx-exception", function: "crash_cxx_exception"),
    Death(kind: "stack-overflow", function: "crash_stack_overflow"),
    Death(
      kind: "illegal-instruction", place: .earlierThread, function: "crash_illegal_instruction"),
    Death(kind: "divide-by-zero", place: .task, function: "crash_divide_by_zero"),
    Death(kind: "await-chain", place: .task, function: "crash_await"),
  ]

  private let directory: SharedDirectory
  private let secrets = PlantedSecrets()

  init() throws {
    directory = try SharedDirectory()
  }

  @Test(arguments: deaths)
  func aReportMadePrivateLaterHasNoSecretAndTheSameFrames(_ death: Death) async throws {
    let (dump, name) = try await crash(death, privacy: nil)
    let planted = secrets.found(inBytes: dump)
    #expect(planted.count >= 8, "the full dump has them")
    #expect(planted.contains(PlantedSecrets.path))
    // For these two kinds, the objects are outside the captured part of the stack.
    if !["await-chain", "stack-overflow"].contains(death.kind) {
      #expect(!planted.isDisjoint(with: PlantedSecrets.inObjects))
    }
    let source = SymbolSource()
    let full = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: DumpBytes(dump)))
    let frames = Frames(full, source)
    #expect(frames.crashed.contains { $0.contains(death.function) }, "\(frames.crashed)")
    for privacy in [ReportPrivacy.sanitized, .noMemory] {
      let database = directory.path + "/\(privacy.rawValue)"
      try place(dump, name, in: database)
      let processed = try processIntermediateDumps(database: database, privacy: privacy)
      #expect(processed.count == 1 && processed[0].outcome.kind == .complete, "\(processed)")
      let snapshot = try await checkAllForms(database, processed)
      #expect(snapshot.process.privacy == privacy)
      #expect(snapshot.memory.regions.isEmpty == (privacy == .noMemory))
      let kept = Frames(snapshot, source)
      #expect(kept.all == frames.all)
      #expect(kept.crashed == frames.crashed)
    }
    try await checkUploads(dump, name)
  }

  @Test(arguments: deaths)
  func aDumpWhoseHandlerLeavesSecretsOutHasNone(_ death: Death) async throws {
    for privacy in ["sanitized", "no-memory"] {
      let (dump, name) = try await crash(death, privacy: privacy)
      let found = secrets.found(inBytes: dump)
      #expect(found.isEmpty, "\(privacy): in the dump \(found)")
      let database = directory.path + "/of-\(privacy)"
      try place(dump, name, in: database)
      let processed = try processIntermediateDumps(database: database)
      #expect(processed.count == 1 && processed[0].outcome.kind == .complete, "\(processed)")
      let snapshot = try await checkAllForms(database, processed)
      #expect(snapshot.process.privacy?.rawValue == (privacy == "sanitized" ? 1 : 2))
      // The name of the type that holds the secrets is no secret.
      if death.kind == "null-read" {
        let objects = CrashReport(snapshot: snapshot, symbolicating: true).words.compactMap(
          \.object)
        let types = objects.compactMap(\.type?.short)
        #expect(types.contains("SecretObjects") == (privacy == "sanitized"), "\(types)")
        // Memory with a secret in place of the reference count must not be shown as an object.
        #expect(objects.allSatisfy { $0.type?.short != "SecretObjects" || $0.count.strong > 0 })
      }
      let frames = Frames(snapshot, SymbolSource())
      #expect(frames.crashed.contains { $0.contains(death.function) }, "\(frames.crashed)")
    }
  }

  @Test func dataOfFoundationIsInTheFullReportAlone() async throws {
    for privacy in ["full", "sanitized"] {
      let database = directory.path + "/data-\(privacy)"
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("FoundationVictim"), [database, privacy],
        in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
      #expect(child.end.signal == SIGSEGV, "\(child.standardError)")
      let (dump, name) = try dump(in: database)
      #expect(secrets.found(inBytes: dump).isEmpty == (privacy == "sanitized"))
      for later in [ReportPrivacy.full, .sanitized] where privacy == "full" || later == .full {
        let place = directory.path + "/data-\(privacy)-\(later.rawValue)"
        try self.place(dump, name, in: place)
        let processed = try processIntermediateDumps(database: place, privacy: later)
        #expect(processed.count == 1)
        if privacy == "full", later == .full {
          let stored = try #require(try CrashReportDatabase(path: place).reports().first)
          let report = [UInt8](try Data(contentsOf: URL(fileURLWithPath: stored.path)))
          #expect(!secrets.found(inBytes: report).isEmpty)
        } else {
          _ = try await checkAllForms(place, processed)
        }
      }
    }
  }

  // MARK: - Crashes

  /// Crashes the program; returns the dump and its name.
  private func crash(_ death: Death, privacy: String?) async throws -> ([UInt8], String) {
    let database = directory.path + "/victim-\(privacy ?? "full")"
    let option = privacy.map { ["--privacy", $0] } ?? []
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      [death.kind, "--database", database, "--on", death.place.rawValue, "--threads", "2"]
        + ["--plant", "--note", PlantedSecrets.argument] + option,
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal != nil, "\(child.standardOutput)\(child.standardError)")
    if privacy != nil {
      let summary = child.standardError.split(separator: "\n").filter {
        $0.hasPrefix("postmortem[")
      }.joined(separator: "\n")
      let logged = try LoggedReport.dumps(in: child.standardError)
      #expect(!summary.isEmpty && logged.count == 1)
      for dump in logged {
        let found = secrets.found(inBytes: dump.bytes)
        #expect(found.isEmpty, "in the pieces \(found)")
      }
      let found = secrets.found(inText: summary)
      #expect(found.isEmpty, "in the summary \(found)")
    }
    return try dump(in: database)
  }

  private func dump(in database: String) throws -> ([UInt8], String) {
    let pending = database + "/" + PendingDumpName.directory
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
    let name = try #require(names.first { PendingDumpName(fileName: $0)?.role == .finished })
    return ([UInt8](try Data(contentsOf: URL(fileURLWithPath: pending + "/" + name))), name)
  }

  private func place(_ dump: [UInt8], _ name: String, in database: String) throws {
    _ = try CrashReportDatabase(path: database)
    let pending = database + "/" + PendingDumpName.directory
    try FileManager.default.createDirectory(
      atPath: pending, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data(dump).write(to: URL(fileURLWithPath: pending + "/" + name))
  }

  // MARK: - Forms

  /// Searches all files that a conversion leaves and all forms of a report.
  private func checkAllForms(
    _ database: String, _ processed: [ProcessedDump]
  ) async throws -> ProcessSnapshot {
    var leaks: [String] = secrets.found(inText: "\(processed)").map { "line of process: \($0)" }
    let files = FileManager.default.enumerator(atPath: database)
    while let file = files?.nextObject() as? String {
      guard let bytes = FileManager.default.contents(atPath: database + "/" + file) else {
        continue
      }
      leaks += secrets.found(inBytes: [UInt8](bytes)).map { "\(file): \($0)" }
    }
    let stored = try #require(try CrashReportDatabase(path: database).reports().first)
    let minidump = [UInt8](try Data(contentsOf: URL(fileURLWithPath: stored.path)))
    let snapshot = try MinidumpReader.snapshot(of: minidump)
    leaks += try forms(of: snapshot)
    leaks += try await uploaded(database, .full)
    #expect(leaks.isEmpty, "\(leaks)")
    return snapshot
  }

  private func forms(of snapshot: ProcessSnapshot) throws -> [String] {
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    let json = report.json()
    return secrets.found(inText: TextReport.text(of: report)).map { "text: \($0)" }
      + secrets.found(inText: json).map { "JSON: \($0)" }
      + secrets.found(inText: HTMLReport.text(of: report)).map { "HTML: \($0)" }
  }

  /// Checks what a server receives of a full report.
  private func checkUploads(_ dump: [UInt8], _ name: String) async throws {
    let database = directory.path + "/full"
    try place(dump, name, in: database)
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(try await uploaded(database, .full).count >= 8, "a full upload has them")
    for privacy in [ReportPrivacy.sanitized, .noMemory] {
      let leaks = try await uploaded(database, privacy)
      #expect(leaks.isEmpty, "\(privacy): \(leaks)")
      let told = try inEvents(database, privacy)
      #expect(told.isEmpty, "in the event, \(privacy): \(told)")
    }
    #expect(try !inEvents(database, .full).isEmpty, "a full event has some")
  }

  /// The secrets in the events of Sentry envelopes.
  private func inEvents(_ database: String, _ privacy: ReportPrivacy) throws -> Set<String> {
    var options = UploadOptions()
    options.privacy = privacy
    var events = ""
    try describeUploads(
      nil, database: database, to: UploadTarget(dsn: "http://key@127.0.0.1/1", options: options)
    ) { events += $0.body }
    return secrets.found(inText: events)
  }

  private func uploaded(_ database: String, _ privacy: ReportPrivacy) async throws -> [String] {
    let receiver = try UploadReceiver()
    // Each upload uses a copy of the database, because a report is uploaded only once.
    let copy = directory.path + "/upload-\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: database, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    var options = UploadOptions()
    options.privacy = privacy
    let ids = try CrashReportDatabase(path: copy).reports().map(\.id)
    let left = try await uploadReports(
      ids, database: copy, to: UploadTarget(url: receiver.url, options: options), emit: { _ in })
    #expect(left == 0)
    let form = try #require(receiver.forms.first)
    #expect(form.files["upload_file_minidump"]?.starts(with: "MDMP".utf8) == true)
    return form.fields.flatMap { name, value in
      secrets.found(inText: value).map { "upload, \(name): \($0)" }
    }
      + form.files.flatMap { name, bytes in
        secrets.found(inBytes: bytes).map { "upload, \(name): \($0)" }
      }
  }
}

/// The parts of the frames of all threads that are compared.
private struct Frames {
  var all: [String] = []
  /// The functions on the crashing thread's stack.
  var crashed: [String] = []

  init(_ snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    symbols.begin(stored: nil)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    for thread in snapshot.threads {
      let trace = walker.trace(
        of: thread, head: 200, tail: 56,
        runsTask: snapshot.tasks.contains { $0.threadID == thread.id })
      all.append("thread \(thread.id) \(trace.end.rawValue) \(trace.omittedCount)")
      for frame in trace.frames + (trace.asyncCalls?.frames ?? []) {
        all.append("\(frame.address) \(frame.trust) \(frame.symbol?.linkageName ?? "")")
        if thread.id == snapshot.exception?.threadID, let name = frame.symbol?.linkageName {
          crashed.append(name)
        }
      }
    }
  }
}
