internal import CrashAnalysis
internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

extension ReportContents {
  /// Fields with facts that are otherwise only in the minidump: cause, place and signature of the crash, and the
  /// values that `withContext` had set on the crashing thread.
  ///
  /// A server that accepts forms can sort reports by these fields. The fields are read from the minidump that is sent,
  /// so they contain nothing that was removed from this minidump. If the minidump cannot be read, the result is empty.
  var factFields: [String: String] {
    let bytes = DumpBytes(
      descriptor: minidump.file.descriptor, count: Int(clamping: minidump.size))
    guard let bytes, let snapshot = try? MinidumpReader.snapshot(of: bytes) else { return [:] }
    // Without a stored verdict, the files of the modules are read, as for all other forms of the report.
    let verdict = Verdict(
      of: snapshot,
      symbols: SymbolSource(
        directories: symbolDirectories,
        readsFiles: snapshot.storedVerdict == nil || !symbolDirectories.isEmpty))
    var fields: [String: String] = [:]
    fields["report_cause"] = verdict.kind
    fields["report_place"] = verdict.place
    fields["report_signature"] = verdict.signature
    if let id = snapshot.exception?.threadID {
      for context in snapshot.client.contextsByThread[id] ?? [] {
        fields["context.\(context.name)"] = context.value
      }
    }
    return fields
  }
}
