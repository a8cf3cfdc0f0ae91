public import IntermediateDump

/// The additional contents of each upload, and the pace of uploads.
public struct UploadOptions: Sendable, Equatable {
  /// Form fields that are sent with each report; they replace annotations of the same name.
  public var fields: [String: String] = [:]
  /// The secrets that uploads may contain; the reports in the database do not change.
  ///
  /// Attachments are sent only if this is `full`.
  public var privacy = ReportPrivacy.full
  /// HTTP headers that are sent with each report, for example for authorization.
  public var headers: [String: String] = [:]
  /// The minimum time between the beginnings of two uploads from the database, by any process; in whole seconds.
  ///
  /// Reports wait for their turn, and no report is dropped.
  public var interval = Duration.seconds(60)
  /// The longest time between a report and its first upload; in whole seconds.
  ///
  /// A report waits for a part of this time that depends on the report's ID. So the hosts of a fleet that fail at the
  /// same moment do not send at the same moment. A restart does not start the wait again.
  public var spread = Duration.zero
  /// The number of reports of one signature that are sent complete, while further ones are only counted; nil to send
  /// all reports complete.
  ///
  /// Sampling is for servers that accept a form without a minidump.
  public var sampling: UploadSampling?
  /// The time without progress after which an upload has failed; in whole seconds, at least one.
  public var timeout = Duration.seconds(60)

  /// The time after which an upload has failed, whatever its progress; in whole seconds, at least one.
  public var deadline = Duration.seconds(900)

  /// Whether Sentry makes the event from the minidump.
  ///
  /// Sentry then uses debug files that were uploaded to it, and ignores the message, the stacks and the names in the
  /// event that is sent.
  ///
  /// The option applies only to `toSentry:`. If it is false, the minidump is a plain attachment.
  public var sentryReadsMinidump = false

  /// Creates options with the defaults: no fields, nothing left out, no headers, one upload per minute, at most 15
  /// minutes for each, and all reports sent complete and without delay.
  public init() {}
}

/// Limits how many reports of one signature are sent complete; further reports are sent as a count.
///
/// Beyond the limit, all pending reports of a signature become one upload without minidumps and attachments: a form
/// with `report_count`, the number of reports, and `minidump_left_out`, the reason. The minidumps stay in the
/// database, and `requestUpload` sends one. A report without a signature is sent complete.
public struct UploadSampling: Sendable, Equatable {
  /// The number of complete reports of one signature that are sent within a window; 5 by default.
  public var wholeReports = 5
  /// The window of that limit, in whole seconds; an hour by default.
  public var window = Duration.seconds(3600)

  /// Creates a limit with the defaults: 5 complete reports of a signature per hour.
  public init() {}
}
