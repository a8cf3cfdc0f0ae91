public import IntermediateDump

/// An installed handler; it stays installed until the process ends.
///
/// `startHandler` returns it, and `Handler.current` is the same one. Calls that need a handler are
/// its methods; `Postmortem` and `PostmortemUpload` add theirs.
public struct Handler: Sendable, Equatable {
  /// The database's directory as passed to `startHandler`, or the directory in it if that is a mount point to which
  /// others may write.
  public let database: String
  /// The name of this program's dumps.
  public let identifier: String
  /// The report ID that the first crash of this process would get.
  public let reportID: ReportID
}
