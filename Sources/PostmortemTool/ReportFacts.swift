internal import CrashReport
internal import Foundation
internal import ProcessSnapshot
internal import Stackwalk

/// What a report is put into a group by.
struct ReportFacts: Codable {
  /// Nil where the dump has lost the signal.
  let signature: String?
  /// The product's name, else the executable's.
  let program: String?
  let version: String?
  /// When it crashed; nil where the dump does not say.
  let time: Timestamp?

  /// Reads them one report after the other, and each module's file once.
  struct Reading {
    private let symbols: SymbolSource

    init(symbolFolders: [String]) { symbols = SymbolSource(folders: symbolFolders) }

    func answer(for path: String) -> ReportAnswer {
      do throws(ToolError) {
        let snapshot = try DumpFile.snapshot(at: path)
        let process = snapshot.process
        let executable = process.executablePath.map { URL(fileURLWithPath: $0).lastPathComponent }
        return ReportAnswer(
          facts: ReportFacts(
            signature: CrashReport.signature(of: snapshot, symbols: symbols),
            program: process.product ?? executable, version: process.version,
            time: process.crashTime.map(Timestamp.init(nanoseconds:))), failure: nil)
      } catch {
        return ReportAnswer(facts: nil, failure: error.description)
      }
    }
  }
}

/// The facts, or why there are none.
struct ReportAnswer: Codable {
  let facts: ReportFacts?
  let failure: String?
}
