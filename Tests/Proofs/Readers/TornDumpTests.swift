import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

/// A real dump, truncated at every length.
@Suite struct TornDumpTests {
  private let dump: [UInt8]
  private let whole: IntermediateDumpDocument

  init() throws {
    let directory = try SharedDirectory()
    _ = try Racer("HandlerOnlyVictim", [directory.path + "/db", "abort"]).lines()
    let name = try #require(
      directory.names("db/pending-serialized-dumps").first {
        PendingDumpName(fileName: $0)?.role == .finished
      })
    dump = try #require(directory.bytes("db/pending-serialized-dumps/" + name))
    whole = try IntermediateDumpDocument(parsing: dump)
    try #require(whole.isComplete)
  }

  /// The offsets at which the properties of a map end, including those of nested maps, in file order.
  private static func propertyEnds(_ entries: [IntermediateDumpMap.Entry]) -> [Int] {
    entries.flatMap { entry in
      switch entry.value {
      case .property(let range): [range.upperBound]
      case .map(let map): propertyEnds(map.entries)
      case .array(let elements): propertyEnds(elements)
      }
    }
  }

  /// The same as a count and the last offset, because the test parses a document for every byte.
  private static func count(
    _ entries: [IntermediateDumpMap.Entry], into result: inout (count: Int, last: Int)
  ) {
    for entry in entries {
      switch entry.value {
      case .property(let range):
        result.count += 1
        result.last = range.upperBound
      case .map(let map): count(map.entries, into: &result)
      case .array(let elements): count(elements, into: &result)
      }
    }
  }

  @Test func atEveryByteAllThatWasWrittenBeforeItIsRead() throws {
    let ends = Self.propertyEnds(whole.root.entries)
    #expect(ends.count > 100)
    var expected = 0
    for count in 0..<dump.count {
      let cut = Array(dump.prefix(count))
      guard count >= IntermediateDumpFormat.headerSize else {
        #expect(throws: IntermediateDumpError.self) { try IntermediateDumpDocument(parsing: cut) }
        continue
      }
      let document = try IntermediateDumpDocument(parsing: cut)
      let damage = try #require(document.damage, "\(count)")
      while expected < ends.count, ends[expected] <= count { expected += 1 }
      var found = (count: 0, last: 0)
      Self.count(document.root.entries, into: &found)
      guard damage.offset <= count, found.count == expected,
        found.last == (expected == 0 ? 0 : ends[expected - 1])
      else {
        Issue.record("cut after \(count) bytes: \(damage)")
        return
      }
    }
  }

  @Test func atEveryPropertyItBecomesAMinidumpThatSaysSo() throws {
    let full = ProcessSnapshot(reading: whole)
    let directory = try SharedDirectory()
    for count in Set(Self.propertyEnds(whole.root.entries) + [IntermediateDumpFormat.headerSize]) {
      let document = try IntermediateDumpDocument(parsing: Array(dump.prefix(count)))
      let snapshot = try MinidumpReader.snapshot(of: minidump(of: document, in: directory))
      #expect(!snapshot.capture.isComplete)
      #expect(snapshot.capture.damage == document.damage?.description)
      #expect(snapshot.threads.count <= full.threads.count)
      if let signal = snapshot.exception?.signal {
        #expect(signal == full.exception?.signal, "\(count)")
      }
    }
  }

  private func minidump(
    of document: IntermediateDumpDocument, in directory: SharedDirectory
  ) throws -> [UInt8] {
    try directory.put([], "minidump")
    let file = try #require(FileHandle(forUpdatingAtPath: directory.path + "/minidump"))
    try MinidumpWriter.write(ProcessSnapshot(reading: document), to: file.fileDescriptor)
    return try #require(directory.bytes("minidump"))
  }

  @Test(.needs(.lldb))
  func atEverySectionsStartAndInItsMiddleLLDBOpensTheReport() async throws {
    let starts = whole.root.entries.map(\.offset)
    #expect(starts.count > 10)
    let dumps = try PendingDatabase()
    for (start, end) in zip(starts, starts.dropFirst() + [dump.count]) {
      for count in [start, (start + end) / 2] { try dumps.putDump(Array(dump.prefix(count))) }
    }
    let processed = try processIntermediateDumps(database: dumps.path)
    #expect(processed.count == 2 * starts.count)
    for one in processed { #expect(one.outcome.kind == .torn, "\(one)") }
    let reports = try dumps.reports
    #expect(reports.count == processed.count)
    let script = reports.map { report in
      "target create --core \"\(report.path)\"\nthread list\ntarget delete\n"
    }.joined()
    try dumps.directory.put(Array(script.utf8), "script")
    let child = try await ChildProcess.run(
      try #require(OutsideTool.lldb.path),
      ["--no-lldbinit", "--batch", "-s", dumps.path + "/script"], in: dumps.path,
      environment: ["DEBUGINFOD_URLS": "", "LLVM_ENABLE_DEBUGINFOD": "0"])
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let output = child.standardOutput
    for report in reports {
      #expect(output.contains("Core file '\(report.path)' (x86_64) was loaded."), "\(output)")
    }
    // Every report that has its exception shows the crash.
    let crashes = try reports.count { report in
      let bytes = try #require(FileManager.default.contents(atPath: report.path))
      return try MinidumpReader.snapshot(of: Array(bytes)).exception?.signal == 6
    }
    #expect(crashes > reports.count / 2)
    #expect(output.components(separatedBy: "stop reason = signal SIGABRT").count - 1 == crashes)
  }
}
