package import ProcessSnapshot
package import Stackwalk

/// The stacks of a process's threads and of its suspended tasks, each walked once, when it is first needed.
package final class ProcessStacks {
  /// The maximum numbers of innermost frames (`head`) and outermost frames (`tail`) that are kept of a deep stack.
  private static let keptFrames = (head: 200, tail: 56)

  let snapshot: ProcessSnapshot
  let symbols: SymbolSource
  private let walker: Stackwalker
  private let runningTasks: Set<UInt32>
  private var traces: [UInt32: StackTrace]

  /// - Parameter known: stacks, by thread ID, that are used instead of a walk.
  package init(
    of snapshot: ProcessSnapshot, symbols: SymbolSource, known: [UInt32: StackTrace] = [:]
  ) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
    walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    runningTasks = Set(snapshot.tasks.map(\.threadID))
    traces = known
  }

  /// The stack of a thread, including the suspended callers of the task that the thread ran.
  func trace(of thread: ThreadSnapshot) -> StackTrace {
    if let known = traces[thread.id] { return known }
    let trace = walker.trace(
      of: thread, head: Self.keptFrames.head, tail: Self.keptFrames.tail,
      runsTask: runningTasks.contains(thread.id))
    traces[thread.id] = trace
    return trace
  }

  /// The innermost frames of a thread, at most `StoredSymbols.hangFrames` without inlined calls.
  func innermostFrames(of thread: ThreadSnapshot) -> [StackFrame] {
    let limit = StoredSymbols.hangFrames
    guard let known = traces[thread.id]?.frames else {
      return walker.frames(of: thread, limit: limit)
    }
    // An inlined call precedes the frame into which it was inlined.
    var count = 0
    return Array(
      known.prefix { frame in
        defer { if !frame.isInlined { count += 1 } }
        return count < limit
      })
  }

  /// The frames of a recorded throw, innermost first.
  func frames(of record: ThrowSnapshot) -> [StackFrame] { walker.frames(of: record) }

  /// The tasks that were found in memory, with the names of their functions; nil if the memory was not searched.
  private(set) lazy var tasks: TaskOverview? = snapshot.allTasks.map {
    TaskOverview($0, walker, works: snapshot.client.openContexts?.works ?? [])
  }
}
