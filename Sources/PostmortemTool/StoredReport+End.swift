internal import CrashReport
internal import CrashReportDatabase
internal import Minidump
internal import ProcessSnapshot

extension StoredReport {
  /// Reports on ends are a few kilobytes; larger ones are not read for it.
  private static var endSize: Int64 { 64 << 10 }

  /// How the run ended, in the word of the JSON schema, if this is a report of one that left
  /// no dump.
  var endKind: String? {
    guard state != .new, size <= Self.endSize, let bytes = try? InputFile.bytes(of: path),
      let document = MinidumpSummary.document(read: { offset, count in
        Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
      })
    else { return nil }
    return ProcessSnapshot(summarizing: document).end.map { $0.kind?.word ?? "unknown" }
  }
}
