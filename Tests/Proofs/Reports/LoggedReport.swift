import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

/// Reads the dumps in what a crashed process printed.
enum LoggedReport {
  /// True for the run with `--full`.
  static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_VERDICTS"] != nil

  static func dumps(in log: String) throws -> [LoggedDump] {
    var reader = LoggedDumpReader()
    reader.take(Array(log.utf8))
    let whole = reader.takeFinished()
    let (rest, strayCount) = reader.finish()
    #expect(rest.isEmpty && strayCount == 0)
    return whole
  }

  static func snapshots(in log: String) throws -> [ProcessSnapshot] {
    try dumps(in: log).map {
      ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: $0.bytes))
    }
  }
}
