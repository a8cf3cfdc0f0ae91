internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// The time that one call of a conversion function may spend on finding names and lines, for all dumps together.
///
/// Hundreds of dumps may be waiting when a program starts. Dumps of the same build share the symbols that were read, so
/// only the first of them takes much time. When the time is used up, the remaining reports are stored without names.
/// `postmortem show` can still find these names if the files of the build are available.
final class SymbolBudget {
  /// The maximum number of seconds that one report may take from the time that all reports share.
  private static let limitOfReport = 2.0
  private var rest = 4.0
  private let files: SymbolSource
  /// The symbol files for the dump that was last passed to `gather`; nil if no time was left for this dump.
  private(set) var source: SymbolSource?

  /// - Parameters:
  ///   - directories: directories to search for more files of the same builds.
  ///   - process: the files of the process that wrote the dump, if it still runs.
  init(directories: [String] = [], process: ProcessFiles? = nil) {
    files = SymbolSource(
      directories: directories, process: process, stored: nil, readsFiles: true, store: nil,
      limit: WorkLimit(seconds: 0))
  }

  /// Finds the function names and lines that a report stores, until the time is used up; nil if no time was left or
  /// nothing was found.
  func gather(for snapshot: ProcessSnapshot) -> StoredSymbols? {
    source = nil
    guard rest > 0 else { return nil }
    let start = Self.now
    defer { rest -= Self.now - start }
    files.begin(stored: nil)
    files.begin(timeLimit: min(Self.limitOfReport, rest))
    source = files
    return StoredSymbols.gather(for: snapshot, from: files)
  }

  /// The time in seconds by the monotonic clock, which stops while the machine is suspended.
  private static var now: Double { Double(SystemClock.awakeSinceBoot) / 1e9 }
}
