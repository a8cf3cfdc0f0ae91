internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot

/// A report as an envelope of Sentry's protocol: a line of JSON, then items, each of which has a line of JSON and
/// bytes.
///
/// Source: develop.sentry.dev, "Envelopes", "Envelope Items".
struct SentryEnvelope: UploadContent {
  /// A file of the envelope.
  ///
  /// The minidump is the first file. If the envelope is too large, the program's attachments are left out first, and
  /// the minidump last.
  private struct Attachment: Sendable {
    let name: String
    let type: String
    let contentType: String
    let file: UploadFile
  }

  let dsn: SentryDSN
  var event: SentryEvent
  private var attachments: [Attachment]

  /// Creates the envelope of a report.
  ///
  /// - Parameter withoutAttachments: true to send no files, for example while the server accepts no attachments.
  init(
    _ contents: ReportContents, to dsn: SentryDSN, _ options: UploadOptions,
    withoutAttachments: Bool
  ) throws(CrashReportDatabaseError) {
    self.dsn = dsn
    event = SentryEvent(
      report: try Self.report(of: contents), reportID: contents.reportID, fields: contents.fields)
    let minidump = Attachment(
      name: "\(contents.reportID).dmp",
      type: options.sentryReadsMinidump ? "event.minidump" : "event.attachment",
      contentType: "application/x-dmp", file: contents.minidump)
    attachments =
      withoutAttachments
      ? []
      : [minidump]
        + contents.attachments.map { name, file in
          Attachment(
            name: name, type: "event.attachment", contentType: "application/octet-stream",
            file: file)
        }
    while attachments.reduce(Int64(0), { $0.clampedAdding($1.file.size) })
      > SentryLimits.attachmentSize
    {
      removeOne()
    }
  }

  /// Reads the report from the file that is sent, so the event does not contain data that the options leave out of
  /// that file.
  private static func report(
    of contents: ReportContents
  ) throws(CrashReportDatabaseError) -> CrashReport {
    let bytes = try contents.minidump.file.dumpBytes(limit: ReportContents.largestRewritten)
    do throws(MinidumpError) {
      let snapshot = try MinidumpReader.snapshot(of: bytes)
      return CrashReport(
        snapshot: snapshot, symbolicating: true,
        prefersStored: snapshot.storedVerdict != nil && contents.symbolDirectories.isEmpty,
        symbolDirectories: contents.symbolDirectories)
    } catch {
      throw CrashReportDatabaseError(
        .fileSystemError, "\(contents.reportID) cannot be converted to an event: \(error)")
    }
  }

  var fields: [String: String] {
    get { event.fields }
    set { event.fields = newValue }
  }

  mutating func stand(for group: UploadGroup?) {
    event.group = group
    if group?.omission != nil { attachments = [] }
  }

  /// The envelope without the program's largest attachment or, if it has no attachments of the program, without the
  /// minidump.
  var smaller: SentryEnvelope? {
    guard !attachments.isEmpty else { return nil }
    var envelope = self
    envelope.removeOne()
    return envelope
  }

  private mutating func removeOne() {
    let own = attachments.indices.dropFirst()
    let largest = own.max { attachments[$0].file.size < attachments[$1].file.size }
    attachments.remove(at: largest ?? 0)
  }

  var headers: [String: String] {
    ["Content-Type": "application/x-sentry-envelope", "X-Sentry-Auth": dsn.authorization]
  }
  var isCompressed: Bool { true }
  var largestRequest: Int64? { SentryLimits.requestSize }

  func write(
    at now: Int64, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((UploadFile) -> String)?
  ) throws(CrashReportDatabaseError) {
    let header: SentryValue = [
      "event_id": .text(event.id), "dsn": .text(dsn.description),
      "sent_at": .text(SentryEvent.time(now.clampedMultiplied(by: 1_000_000_000))),
      "sdk": ["name": "swift-postmortem", "version": .text(SentryEvent.version)],
    ]
    try write(header.json + [0x0A])
    let event = event.json
    let item: SentryValue = [
      "type": "event", "content_type": "application/json", "length": SentryValue(event.count),
    ]
    try write(item.json + [0x0A])
    try write(event + [0x0A])
    for attachment in attachments {
      let item: SentryValue = [
        "type": "attachment", "attachment_type": .text(attachment.type),
        "content_type": .text(attachment.contentType), "filename": .text(attachment.name),
        "length": .signed(attachment.file.size),
      ]
      try write(item.json + [0x0A])
      if let contents {
        try write(Array(contents(attachment.file).utf8))
      } else {
        try attachment.file.copy(to: write)
      }
      try write([0x0A])
    }
  }
}
