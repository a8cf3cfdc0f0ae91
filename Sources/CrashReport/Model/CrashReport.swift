package import ProcessSnapshot
internal import Stackwalk

/// A crash as it is shown: the snapshot, and what was found out from it.
///
/// Text, HTML and JSON are three forms of this one tree. The dump's facts are in `snapshot` and
/// nowhere else; the other properties hold what walking the stacks and the analysis add.
package struct CrashReport: Sendable {
  package var snapshot: ProcessSnapshot
  /// The crashing thread first.
  package var threads: [Thread]
  /// The reason why frames have no names or uncertain ones, for each of the snapshot's modules.
  package var symbolNotes: [String?]
  /// The message of the runtime or the C library that ended the process, else the type and text of
  /// an uncaught C++ exception.
  package var message: String?
  /// Nil where the dump shows no cause, and where nothing crashed.
  package var cause: Finding?
  /// The same for crashes of the same cause; the rules are in `Docs/Signatures.md`.
  package var signature: String?

  /// The frames that are kept of one stack: its innermost and, of a deep recursion, its outermost.
  static let keptFrames = (head: 200, tail: 56)

  /// Makes the report of a crashed process.
  ///
  /// - Parameters:
  ///   - snapshot: the process, from an intermediate dump or a minidump.
  ///   - symbolicating: whether to take functions and lines from the modules' files on this
  ///     machine. Without, names are those stored at conversion, and frames that can be found only
  ///     by reading code are missing.
  ///   - symbolDirectories: where else to look for files of the same builds, by build ID and by name.
  package init(snapshot: ProcessSnapshot, symbolicating: Bool, symbolDirectories: [String] = []) {
    let symbols = SymbolSource(
      directories: symbolDirectories, stored: snapshot.storedSymbols, readsFiles: symbolicating)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let crashedID = snapshot.exception?.threadID
    let tasks = Dictionary(
      snapshot.tasks.map { ($0.threadID, $0) }, uniquingKeysWith: { first, _ in first })
    threads = snapshot.threads.map { thread in
      let task = tasks[thread.id]
      let trace = walker.trace(
        of: thread, head: Self.keptFrames.head, tail: Self.keptFrames.tail, runsTask: task != nil)
      return Thread(
        snapshot: thread, crashed: thread.id == crashedID, trace: trace,
        task: task.map { Task($0, trace.asyncCalls, in: snapshot) })
    }
    if let index = threads.firstIndex(where: \.crashed), index > 0 {
      threads.insert(threads.remove(at: index), at: 0)
    }
    self.snapshot = snapshot
    symbolNotes = snapshot.modules.map { symbols.note(on: $0) }
    let finder = CauseFinder(of: snapshot, trace: threads.first { $0.crashed }?.trace)
    message = finder.message
    let finding = finder.finding
    cause = snapshot.request == nil && snapshot.end == nil ? finding : nil
    signature = Signature.text(of: snapshot, trace: finder.trace, finding)
  }
}

extension CrashReport {
  /// Nanoseconds from a breadcrumb to the crash, by a clock that nobody sets.
  package func age(of breadcrumb: ClientInformation.Breadcrumb) -> UInt64? {
    guard let now = snapshot.process.crashUptime, let then = breadcrumb.uptime, then <= now else {
      return nil
    }
    return now &- then
  }

  /// True if all bytes of a range that the program asked for are in the dump.
  package func isCaptured(_ range: ClientInformation.ExtraMemoryRange) -> Bool {
    guard let count = Int(exactly: range.size) else { return false }
    return snapshot.memory.bytes(at: range.address, count: count) != nil
  }
}
