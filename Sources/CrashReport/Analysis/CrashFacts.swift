package import ProcessSnapshot
internal import Stackwalk

/// The facts of a crash that its analysis adds, from the crashing thread alone and without reading
/// modules' files: for the program that converts the dump.
package struct CrashFacts: Sendable {
  /// A word for the cause, or for the way in which a run ended without a dump.
  package let cause: String?
  package let message: String?
  package let signature: String?
  /// The innermost call of the program's own code, with file and line where they are stored.
  package let place: String?

  /// Analyses a snapshot, with the names that are stored in it.
  package init(of snapshot: ProcessSnapshot) {
    let symbols = SymbolSource(directories: [], stored: snapshot.storedSymbols, readsFiles: false)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let trace = snapshot.crashedThread.map {
      walker.trace(
        of: $0, head: CrashReport.keptFrames.head, tail: CrashReport.keptFrames.tail)
    }
    let finder = CauseFinder(of: snapshot, trace: trace)
    let finding = finder.finding
    message = finder.message
    signature = Signature.text(of: snapshot, trace: finder.trace, finding)
    cause =
      snapshot.end.map { $0.kind?.word ?? "unknown" }
      ?? (snapshot.request == nil ? finding?.kind : nil)
    place = finder.trace.frames.first(where: Signature(snapshot.modules).isOwn).flatMap { frame in
      frame.function.map { function in
        guard let location = frame.sourceLocation else { return function }
        return "\(function) at \(location.file)" + (location.line.map { ":\($0)" } ?? "")
      }
    }
  }
}
