/// The data that a `UserStreamDataSource` can read from a dump; on this system, there are no dumps.
public struct CrashedProcess: Sendable {
  private init() {}

  /// Always nil, because this system has no dumps.
  public var processID: UInt32? { nil }
  /// Always nil, because this system has no dumps.
  public var signal: Int32? { nil }
  /// Always nil, because this system has no dumps.
  public var address: UInt64? { nil }
  /// Always empty, because this system has no dumps.
  public var annotations: [String: String] { [:] }

  /// Always returns nil, because this system has no dumps.
  public func bytes(at address: UInt64, count: Int) -> [UInt8]? { nil }
}
