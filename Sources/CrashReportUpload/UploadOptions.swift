/// What is sent beside the report, and how often.
public struct UploadOptions: Sendable, Equatable {
  /// Form fields that are sent with each report; they win over its annotations of the same name.
  public var fields: [String: String] = [:]
  /// HTTP headers that are sent with each report, an authorization for one.
  public var headers: [String: String] = [:]
  /// Seconds between the beginnings of two uploads from the database, whichever process does them.
  ///
  /// Reports wait for their turn; none is dropped.
  public var interval = 60
  /// Seconds without progress after which an upload counts as failed.
  public var timeout = 60

  /// The defaults: no fields, no headers, an upload a minute.
  public init() {}
}
