public import IntermediateDump

/// An installed handler; it stays installed until the process ends.
///
/// `startHandler` returns the handler, and `Handler.current` is the same handler. Functions that need a handler are
/// methods of this type; the modules `Postmortem` and `PostmortemUpload` add more methods.
public struct Handler: Sendable, Equatable {
  /// The database's directory: the one passed to `startHandler`, or a directory inside that one if it is a mount
  /// point to which other users may write.
  public let database: String
  /// The name of this program's dumps.
  public let identifier: String
  /// The report ID that the first crash of this process would get.
  public let reportID: ReportID
}
