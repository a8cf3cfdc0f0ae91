internal import CoreFile
internal import CrashAnalysis
internal import CrashReport
internal import DumpInspection
internal import Foundation
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// Does everything that the package does with the bytes of a dump.
///
/// The results are not checked; the steps must only terminate without a crash.
struct WholeWay {
  /// The total size of the results, counted so that the optimizer cannot remove the work.
  private(set) var size = 0

  /// The path at which minidumps are written.
  private let path: String

  init(directory: String) { path = directory + "/minidump" }

  mutating func go(_ bytes: [UInt8]) throws {
    if bytes.starts(with: Array("MDMP".utf8)) {
      guard let snapshot = try? MinidumpReader.snapshot(of: bytes) else { return }
      try show(snapshot)
      try goOn(with: snapshot)
    } else if CoreReader.isCore(bytes[...]) {
      guard let snapshot = try? CoreReader.snapshot(of: DumpBytes(bytes)) else { return }
      try show(snapshot)
      try goOn(with: snapshot)
    } else {
      guard let document = try? IntermediateDumpDocument(parsing: bytes) else { return }
      size += "\(IntermediateDumpTree(document))".utf8.count
      var snapshot = ProcessSnapshot(reading: document)
      snapshot.storedSymbols = StoredSymbols.gather(
        for: snapshot, from: SymbolSource(timeLimit: 4))
      try show(snapshot)
      try goOn(with: snapshot)
    }
  }

  /// Writes a minidump, reads it back, and shows the result.
  private mutating func goOn(with snapshot: ProcessSnapshot) throws {
    let descriptor = unsafe open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFailure(call: "open", errno: errno) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // The writer refuses a minidump that is too large.
    guard (try? MinidumpWriter.write(snapshot, to: descriptor)) != nil else { return }
    try file.seek(toOffset: 0)
    let bytes = Array(try file.readToEnd() ?? Data())
    guard bytes.starts(with: Array("MDMP".utf8)) else { return }
    try show(try MinidumpReader.snapshot(of: bytes))
  }

  private mutating func show(_ snapshot: ProcessSnapshot) throws {
    let report = CrashReport(snapshot: snapshot, symbolicating: true)
    size += TextReport.text(of: report).utf8.count
    size += HTMLReport.text(of: report).utf8.count
    size += report.json(isIndented: true).utf8.count
    size += TextReport.text(of: report, width: 40).utf8.count
    size += Verdict(of: snapshot, symbols: SymbolSource()).signature?.utf8.count ?? 0
  }
}

struct SystemFailure: Error {
  let call: String
  let errno: Int32
}
