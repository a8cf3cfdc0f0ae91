public import IntermediateDump

/// An installed handler; it stays installed until the process ends.
///
/// Both `startHandler` and `Handler.current` return the handler. Functions that need a handler are methods of this
/// type; the modules `Postmortem` and `PostmortemUpload` add more methods.
public struct Handler: Sendable, Equatable {
  /// The database's directory.
  ///
  /// This is the directory that was passed to `startHandler`. If that directory is a mount point that other users may
  /// write to, the database is a directory inside the mount point.
  public let database: String
  /// The identifier of this program; the names of its dumps begin with it.
  public let identifier: String
  /// The report ID that the first crash of this process would get.
  public let reportID: ReportID
}
