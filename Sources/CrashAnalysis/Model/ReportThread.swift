package import ProcessSnapshot
package import Stackwalk

/// One thread, its stack, and the task of Swift concurrency that it ran.
package struct ReportThread: Sendable {
  package var snapshot: ThreadSnapshot
  /// True for the thread that received the signal, or, in a dump without a crash, for the hung thread or for the
  /// thread that took the dump.
  package var crashed: Bool
  package var trace: StackTrace
  package var task: ReportTask?
  /// The values set by the `withContext` calls that this thread was in, outermost first.
  package var contexts: [ClientInformation.Context] = []

  package var id: UInt32 { snapshot.id }
  package var name: String? { snapshot.name }
  /// The frames, innermost first.
  package var frames: [StackFrame] { trace.frames }
}

/// A task of Swift concurrency, and the suspended asynchronous functions in it.
package struct ReportTask: Sendable {
  /// The task's fields; nil if the dump lacks the memory of the task, or if that memory cannot be interpreted.
  package var fields: TaskSnapshot.Fields?
  /// The suspended callers, without functions that the compiler and the runtime add.
  package var calls: AsyncCalls

  package var frames: [StackFrame] { calls.frames }
}

extension ReportTask {
  init(_ task: TaskSnapshot, _ calls: AsyncCalls?, in snapshot: ProcessSnapshot) {
    fields = task.fields(in: snapshot.memory)
    let calls = calls ?? AsyncCalls()
    self.calls = calls
    self.calls.frames = []
    self.calls.omittedAfter = 0
    for (index, frame) in calls.frames.enumerated() {
      if index == calls.omittedAfter { self.calls.omittedAfter = self.calls.frames.count }
      if !Self.isCompilersOwn(frame) { self.calls.frames.append(frame) }
    }
  }

  /// True for adapters that the compiler generates, and for the runtime's function to which a task's first function
  /// returns.
  private static func isCompilersOwn(_ frame: StackFrame) -> Bool {
    guard let function = frame.function else { return false }
    return function.contains("reabstraction thunk helper")
      || function.contains("partial function for partial apply forwarder for ")
      || function.hasPrefix("completeTask")
  }
}

extension StackFrame {
  /// The demangled name of the frame's function; nil if it is not known.
  package var function: String? { symbol?.name }

  /// The name of the frame's function in the symbol table, otherwise in the debug information; nil if it is not known.
  package var linkageName: String? { symbol?.linkageName }
}

extension [ModuleSnapshot] {
  package func module(of frame: StackFrame) -> ModuleSnapshot? {
    frame.moduleIndex.flatMap { indices.contains($0) ? self[$0] : nil }
  }
}

extension ModuleSnapshot {
  /// The module's name with the offset of an address, for example "libc.so.6+0x1234".
  package func text(of address: Address) -> String {
    "\(name)+\(Address(address.wrappedDistance(above: self.address)))"
  }
}
