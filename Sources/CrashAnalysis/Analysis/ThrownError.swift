package import ProcessSnapshot
package import Stackwalk

/// The throw of an error, with the call stack at that time.
package struct ThrownError: Sendable, Equatable {
  package var record: ThrowSnapshot
  /// The frames of the throwing thread, innermost first.
  package var frames: [StackFrame]

  package init(record: ThrowSnapshot, frames: [StackFrame]) {
    (self.record, self.frames) = (record, frames)
  }

  /// The runtime's functions that end a process because of an error.
  ///
  /// A sanitized dump contains no message, so only these functions on the stack show that an error ended the process.
  private static let endings: Set = ["swift_errorInMain", "swift_unexpectedError"]

  /// - Parameter trace: the stack of the crashing thread.
  /// - Returns: nil if no Swift error ended the process, or if the snapshot contains no throw.
  init?(_ finding: Finding?, trace: StackTrace, in stacks: ProcessStacks) {
    guard let record = stacks.snapshot.lastThrow,
      finding?.kind == SwiftFailure.uncaughtError.rawValue
        || trace.frames.prefix(8).contains(where: { frame in
          frame.symbol.map { Self.endings.contains($0.linkageName) } ?? false
        })
    else { return nil }
    self.record = record
    frames = stacks.frames(of: record)
  }
}
