public import IntermediateDump

/// The additional contents of each upload, and the pace of uploads.
public struct UploadOptions: Sendable, Equatable {
  /// Form fields that are sent with each report; they replace annotations of the same name.
  public var fields: [String: String] = [:]
  /// The privacy level, which determines the secrets that uploads may contain; the reports in the database do not
  /// change.
  ///
  /// Attachments are sent only if `privacy` is `full`.
  public var privacy = ReportPrivacy.full
  /// HTTP headers that are sent with each report, for example for authorization.
  public var headers: [String: String] = [:]
  /// The minimum time, in whole seconds, from the start of one upload from the database to the start of the next, even
  /// if different processes send them.
  ///
  /// The other reports wait for their turn; no report is dropped. `postmortem upload` and `postmortem run` do not wait.
  public var interval = Duration.seconds(60)
  /// The maximum time by which the first upload of a report is postponed; in whole seconds.
  ///
  /// A report waits for a part of this time that depends on the report's ID. So the hosts of a fleet that fail at the
  /// same moment do not send at the same moment. The wait begins when the report is created, so a restart of the
  /// uploader does not prolong the wait. A report whose upload was requested does not wait.
  public var spread = Duration.zero
  /// Limits how many reports of one signature are sent complete, while further reports are only counted; nil for no
  /// limit.
  ///
  /// Sampling is for Sentry's envelopes, and for servers that accept a form without a minidump.
  public var sampling: UploadSampling?
  /// The time without progress after which an upload fails; in whole seconds, at least one.
  public var timeout = Duration.seconds(60)

  /// The time after which an upload fails, whatever its progress; in whole seconds, at least one.
  public var deadline = Duration.seconds(900)

  /// Whether Sentry makes the event from the minidump.
  ///
  /// If true, Sentry uses the debug files that were uploaded to Sentry, and ignores the message, the stacks and the
  /// names in the event that this package sends.
  ///
  /// The option applies only to uploaders that are created with `toSentry:`. If the option is false, the minidump is
  /// sent as a plain attachment.
  public var sentryReadsMinidump = false

  /// Directories to search for more files of the programs' builds, by build ID and by name.
  package var symbolDirectories: [String] = []

  /// Creates options with the defaults: no fields, nothing left out, no headers, one upload per minute, at most 15
  /// minutes for each, and all reports sent complete and without delay.
  public init() {}
}

/// Limits how many reports of one signature are sent complete; further reports are sent as a count.
///
/// Beyond the limit, the pending reports of a signature (at most 10,000) become one upload without minidumps and
/// attachments. In a form, the field `report_count` is the number of reports, and `minidump_left_out` is the reason; in
/// a Sentry event, these are tags. The minidumps stay in the database, and `requestUpload` requests the upload of one
/// of them. A report without a signature is sent complete.
public struct UploadSampling: Sendable, Equatable {
  /// The number of complete reports of one signature that are sent within a window; 5 by default.
  public var wholeReports = 5
  /// The time for which `wholeReports` is the limit, in whole seconds; an hour by default.
  public var window = Duration.seconds(3600)

  /// Creates a limit with the defaults: 5 complete reports of a signature per hour.
  public init() {}
}
