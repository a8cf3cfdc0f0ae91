internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk
internal import Synchronization

/// The functions on the stacks of crashing threads, for thousands of processes that run the same few files.
///
/// The contents of each file are kept: without optimization, reading one takes seconds.
final class VictimSymbols: Sendable {
  private struct Shelf {
    var source: SymbolSource
    var uses = 0
  }

  let directories: [String]

  /// The number of innermost frames; a crash's own function is among them.
  private static let frameCount = 24
  /// The number of uses after which the symbols are read anew: found frames are kept too, and each process has
  /// other addresses.
  private static let mostUses = 500

  private let shelf: Mutex<Shelf>

  /// - Parameter directories: directories with files that are at other paths on this machine.
  init(directories: [String]) {
    self.directories = directories
    shelf = Mutex(Shelf(source: SymbolSource(directories: directories)))
  }

  /// The number of threads whose frames are compared.
  private static let comparedThreads = 4

  /// The differences between the stacks of a private report and those of the full one; empty if there are none.
  ///
  /// A symbol source that has read for other reports may reach its memory limit. Differences found with it are
  /// therefore checked again with a new source.
  func changes(of snapshot: ProcessSnapshot) -> [String] {
    let isChanged = shelf.withLock { shelf in
      shelf.source.begin(stored: nil)
      return !Self.changes(of: snapshot, shelf.source).isEmpty
    }
    return isChanged
      ? Self.changes(of: snapshot, SymbolSource(directories: directories)) : []
  }

  private static func changes(of whole: ProcessSnapshot, _ source: SymbolSource) -> [String] {
    var snapshot = whole
    snapshot.threads = Array(snapshot.threads.prefix(comparedThreads))
    func frames(_ snapshot: ProcessSnapshot) -> [String] {
      let walker = Stackwalker(snapshot: snapshot, symbols: source)
      return snapshot.threads.flatMap { thread in
        let trace = walker.trace(
          of: thread, head: frameCount, tail: 8,
          runsTask: snapshot.tasks.contains { $0.threadID == thread.id })
        let frames = (trace.frames + (trace.asyncCalls?.frames ?? [])).map {
          "\($0.address) \($0.trust)"
        }
        return ["thread \(thread.id), \(trace.end), \(trace.omittedCount)"] + frames
      }
    }
    let full = frames(snapshot)
    return [ReportPrivacy.sanitized, .noMemory].flatMap { privacy -> [String] in
      let kept = frames(snapshot.keeping(privacy, symbols: source))
      guard kept != full else { return [] }
      let place = zip(kept, full).enumerated().first { $0.element.0 != $0.element.1 }?.offset
      let index = place ?? min(kept.count, full.count)
      return [
        "frames of a report of privacy \(privacy.rawValue): line \(index) is"
          + " \(kept.dropFirst(index).first ?? "none"), not \(full.dropFirst(index).first ?? "none"),"
          + " after \(full[max(0, index - 4)..<index].joined(separator: ", "))"
      ]
    }
  }

  func functions(on thread: ThreadSnapshot, of snapshot: ProcessSnapshot) -> [String] {
    withSource { symbols in
      let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
      return walker.frames(of: thread, limit: Self.frameCount).compactMap { $0.symbol?.linkageName }
    }
  }

  /// The differences between the report from a log and that of the dump; as with `changes`, they are checked again.
  func differences(_ logged: ProcessSnapshot, _ dumped: ProcessSnapshot) -> [String] {
    let isDifferent = withSource { !Self.differences(logged, dumped, $0).isEmpty }
    return isDifferent
      ? Self.differences(logged, dumped, SymbolSource(directories: directories)) : []
  }

  private static func differences(
    _ logged: ProcessSnapshot, _ dumped: ProcessSnapshot, _ source: SymbolSource
  ) -> [String] {
    let reports = [logged, dumped].map { CrashReport(of: ProcessStacks(of: $0, symbols: source)) }
    return LoggedReport.differences(reports[0], reports[1], isUnderCondition: true)
  }

  private func withSource<Result>(_ body: (SymbolSource) -> sending Result) -> Result {
    shelf.withLock { shelf in
      if shelf.uses == Self.mostUses {
        shelf = Shelf(source: SymbolSource(directories: directories))
      }
      shelf.uses += 1
      // The limits of work and memory apply to each report.
      shelf.source.begin(stored: nil)
      return body(shelf.source)
    }
  }
}
