public import IntermediateDump

/// A handler that is installed; it stays so until the process ends.
public struct Handler: Sendable, Equatable {
  /// The database folder as it was given to `startHandler`.
  public let database: String
  /// What this program's dumps are named with.
  public let identifier: String
  /// The report ID that the first crash of this process would get.
  public let reportID: ReportID
}
