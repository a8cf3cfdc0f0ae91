internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// A database that must exist: a mistyped path must not make directories.
enum ReportDatabase {
  /// Counts the dumps that wait to be processed; nil if there is no directory of dumps.
  static func waiting(in path: String) -> Int? {
    let pending = path + "/" + PendingDumpName.directory
    guard InputFile.isDirectory(pending) else { return nil }
    return InputFile.names(in: pending).count { PendingDumpName(fileName: $0)?.role == .finished }
  }

  static func open(_ path: String) throws -> CrashReportDatabase {
    try InputFile.requireDirectory(path)
    guard InputFile.isDirectory(path + "/pending") else {
      throw ToolError(path: path, "not a report database: it has no directory 'pending'")
    }
    return try CrashReportDatabase(path: path)
  }
}

extension StoredReport {
  /// Reports on ends are a few kilobytes; larger ones are not read for it.
  private static var endSize: Int64 { 64 << 10 }

  /// The way in which a run ended that left no dump, in the word of the JSON schema; nil for the
  /// report of a dump.
  var endKind: String? {
    guard state != .new, size <= Self.endSize, let bytes = try? InputFile.bytes(of: path),
      let document = MinidumpSummary.document(read: { offset, count in
        Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
      })
    else { return nil }
    return ProcessSnapshot(summarizing: document).end.map { $0.kind?.word ?? "unknown" }
  }
}
