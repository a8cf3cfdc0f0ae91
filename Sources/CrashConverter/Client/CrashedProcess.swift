internal import ProcessSnapshot

/// The part of a dump that a `UserStreamDataSource` can read.
public struct CrashedProcess: Sendable {
  private let snapshot: ProcessSnapshot

  init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
  }

  /// The process ID in the process's own PID namespace; nil if a truncated dump lacks it.
  public var processID: UInt32? { snapshot.process.processID }
  /// The signal of the crash; nil for a dump that was taken without a crash, or if a truncated dump lacks it.
  public var signal: Int32? { snapshot.exception?.signal }
  /// The address of the fault; nil for a dump that was taken without a crash, if a signal of this kind has no address,
  /// or if a truncated dump lacks it.
  public var address: UInt64? { snapshot.exception?.address?.value }
  /// The annotations that the report uses, from the program and from the converter, by name.
  public var annotations: [String: String] { snapshot.annotations }

  /// Returns `count` bytes of the process's captured memory, for example of a stack or of extra memory.
  ///
  /// - Returns: nil unless all of these bytes were captured.
  public func bytes(at address: UInt64, count: Int) -> [UInt8]? {
    snapshot.memory.bytes(at: Address(address), count: count).map { Array($0) }
  }
}
