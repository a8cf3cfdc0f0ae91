import CrashConverter
import CrashReportDatabase
import Foundation
import Minidump
import ProcessSnapshot

/// The reports that the next start makes of a database's pending dumps, except reports on runs that were killed
/// without a dump.
struct ReportDirectory: Sendable {
  let processed: [ProcessedDump]
  let snapshots: [ProcessSnapshot]
  /// Names of the files that the conversion left in the directory of pending dumps.
  let leftovers: [String]

  /// Converts the pending dumps.
  init(_ database: String) throws {
    // The tests do not need function names, which in a debug build cost a second or two for each dump.
    processed = try processIntermediateDumps(database: database, storingSymbols: false)
      .filter { $0.outcome.kind != .ended }
    snapshots = try CrashReportDatabase(path: database).reports().map { stored in
      let bytes = try Data(contentsOf: URL(fileURLWithPath: stored.path))
      return try MinidumpReader.snapshot(of: [UInt8](bytes))
    }.filter { $0.end == nil }
    leftovers = try FileManager.default.contentsOfDirectory(
      atPath: database + "/pending-serialized-dumps")
  }

  /// True if there is one complete report and nothing else.
  var hasOneCompleteReport: Bool {
    processed.count == 1 && processed[0].outcome == .complete && snapshots.count == 1
      && snapshots[0].capture.isComplete && leftovers.isEmpty
  }
}
