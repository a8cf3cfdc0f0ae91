internal import CrashReportDatabase
internal import IntermediateDump

/// Sentry, or a server with the same protocol.
struct SentryServer: UploadServer {
  let dsn: SentryDSN
  /// The rate limits that the server's answers have set so far.
  let rateLimits = SentryRateLimits()

  var leftOutOfSmallest: String { "attachments, minidump" }

  func wait(now: Int64) -> Int64? { rateLimits.wait(for: .error, now: now) }

  func content(
    of report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ reduction: UploadReduction, at now: Int64
  ) throws(CrashReportDatabaseError) -> any UploadContent {
    try SentryEnvelope(
      try ReportContents(report, in: database, options, reduction, leavesOutMemory: false),
      to: dsn, options,
      // The smallest upload has no attachments, and no upload has attachments while the server's rate limit for
      // attachments applies.
      withoutAttachments: reduction == .smallest
        || rateLimits.wait(for: .attachment, now: now) != nil)
  }

  func judge(_ response: UploadResponse, size: Int64, now: Int64) -> UploadVerdict {
    rateLimits.take(response.rateLimits, now: now)
    return UploadVerdict.judge(envelope: response, size: size, rateLimits, now: now)
  }
}

extension UploadVerdict {
  /// Determines the result of an upload from the server's answer to an envelope.
  ///
  /// - Parameter limits: the rate limits of this and earlier answers.
  ///
  /// Source: develop.sentry.dev, "Rate Limiting", "Envelopes", Ingestion.
  static func judge(
    envelope response: UploadResponse, size: Int64 = 0, _ limits: SentryRateLimits, now: Int64
  ) -> UploadVerdict {
    switch judge(response, UploadReceipt(envelope: response), size, now) {
    case .retry(let after, let reason, let holdsAll) where response.status == 429:
      let wait = limits.wait(for: .error, now: now) ?? after ?? defaultWait
      return .retry(after: wait, reason: reason, holdsAll: holdsAll)
    case let other: return other
    }
  }

  /// The number of seconds to wait after an answer with status 429 that names no time.
  private static let defaultWait: Int64 = 60
}

extension UploadTarget {
  /// Creates a target for Sentry, or for a server with the same protocol.
  package init(dsn: String, options: UploadOptions) throws(UploadError) {
    let dsn = try SentryDSN(dsn)
    try self.init(dsn.envelopeURL, SentryServer(dsn: dsn), options)
  }
}

extension ReportUploader {
  /// Creates an uploader to Sentry, or to a server with the same protocol.
  ///
  /// The uploader sends nothing until `start()` or `run()` is called.
  ///
  /// Each report is sent as an envelope with an event; the minidump and the program's files are attachments. An
  /// attachment is left out, for example, if the request would be too large. The event has a message, stacks, tags and
  /// breadcrumbs.
  ///
  /// - Parameters:
  ///   - path: the database's directory.
  ///   - dsn: the DSN of the project, `https://KEY@HOST/PROJECT`.
  ///   - options: additional contents of each upload, and the pace of uploads.
  ///   - review: runs before each upload, with the tags as fields; nil to send all reports.
  /// - Throws: `UploadError` if the DSN or a header is invalid, or the database cannot be opened. It is not an error
  ///   if the network is down.
  ///
  /// Source: develop.sentry.dev, "Envelopes".
  public convenience init(
    database path: String, toSentry dsn: String, options: UploadOptions = UploadOptions(),
    review: UploadReview? = nil
  ) throws(UploadError) {
    try self.init(
      database: path, target: try UploadTarget(dsn: dsn, options: options), review: review)
  }
}
