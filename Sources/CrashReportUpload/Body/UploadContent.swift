internal import CrashReportDatabase
internal import IntermediateDump

/// A report in the form that a server asks for.
enum UploadContent: Sendable {
  case form(UploadForm)
  case envelope(SentryEnvelope)

  /// Opens a report's files, and takes from them what its form needs.
  ///
  /// - Parameter withoutAttachments: true while the server takes the event alone.
  init(
    _ report: StoredReport, in database: CrashReportDatabase, _ target: UploadTarget,
    withoutAttachments: Bool = false
  ) throws(CrashReportDatabaseError) {
    let contents = try ReportContents(report, in: database, target.options)
    switch target.form {
    case .form: self = .form(UploadForm(contents))
    case .envelope(let dsn):
      self = .envelope(
        try SentryEnvelope(
          contents, to: dsn, target.options, withoutAttachments: withoutAttachments))
    }
  }

  var fields: [String: String] {
    get {
      switch self {
      case .form(let form): form.fields
      case .envelope(let envelope): envelope.event.fields
      }
    }
    set {
      switch self {
      case .form(var form):
        form.fields = newValue
        self = .form(form)
      case .envelope(var envelope):
        envelope.event.fields = newValue
        self = .envelope(envelope)
      }
    }
  }

  /// Says for how many reports the upload stands, and leaves out the files of one that is not sent whole.
  mutating func stand(for group: UploadGroup?) {
    switch self {
    case .form(var form):
      form.stand(for: group)
      self = .form(form)
    case .envelope(var envelope):
      envelope.stand(for: group)
      self = .envelope(envelope)
    }
  }

  /// The headers that belong to this form, by name.
  var headers: [String: String] {
    switch self {
    case .form(let form): ["Content-Type": form.contentType]
    case .envelope(let envelope): envelope.headers
    }
  }

  var isCompressed: Bool {
    switch self {
    case .form: false
    case .envelope: true
    }
  }

  /// The most bytes of a request; a larger one is made again with less in it.
  var largestRequest: Int64? {
    switch self {
    case .form: nil
    case .envelope: SentryLimits.requestSize
    }
  }

  /// The same without its largest file; nil where nothing more can be left out.
  var smaller: UploadContent? {
    switch self {
    case .form: nil
    case .envelope(let envelope): envelope.smaller.map { .envelope($0) }
    }
  }

  /// Gives the body's bytes in order.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - write: takes a piece of at most 256 KiB, one field, or one event.
  ///   - contents: gives a text in place of a file; nil for the file's bytes.
  func write(
    at now: Int64, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((UploadFile) -> String)? = nil
  ) throws(CrashReportDatabaseError) {
    switch self {
    case .form(let form): try form.write(to: write, contents: contents)
    case .envelope(let envelope): try envelope.write(at: now, to: write, contents: contents)
    }
  }
}
