/// The part of a dump that a `UserStreamDataSource` gets; there are no dumps on this system.
public struct CrashedProcess: Sendable {
  private init() {}

  /// Nil.
  public var processID: UInt32? { nil }
  /// Nil.
  public var signal: Int32? { nil }
  /// Nil.
  public var address: UInt64? { nil }
  /// Empty.
  public var annotations: [String: String] { [:] }

  /// Returns nil.
  public func bytes(at address: UInt64, count: Int) -> [UInt8]? { nil }
}
