internal import CrashReportDatabase
internal import IntermediateDump

/// A report as a form, as Crashpad and Breakpad send it: a body of type `multipart/form-data`.
///
/// The body is written piece by piece, so it is never completely in memory.
///
/// Source: RFC 7578; RFC 2046, 5.1; WHATWG HTML, "multipart/form-data" for names; Crashpad
/// `handler/minidump_to_upload_parameters.cc`, `handler/crash_report_upload_thread.cc`; Breakpad
/// `client/linux/sender/google_crash_report_sender.cc`.
struct UploadForm: UploadContent {
  /// The name of the minidump's part in the forms of Crashpad and Breakpad.
  private static let minidumpPart = "upload_file_minidump"

  private enum Content: Sendable {
    case bytes([UInt8])
    case file(UploadFile)
  }

  /// The boundary has 122 random bits, so no content is likely to contain it.
  private let boundary = "---postmortem-\(ReportID())"
  private var parts: [(header: String, content: Content)] = []
  private let reportID: ReportID
  /// The fields by name, without `report_id`.
  ///
  /// `report_id` is added when the form is written. A server uses this field to recognize a report that it already
  /// has.
  var fields: [String: String] = [:]
  /// The reports that the upload represents; nil if it represents only this report.
  private var group: UploadGroup?

  /// The parts of the form: first a part for each field, then a part for each file.
  private var allParts: [(header: String, content: Content)] {
    var fields = fields
    fields["report_id"] = reportID.description
    fields.merge(group?.fields ?? [:]) { _, own in own }
    return fields.sorted { $0.key < $1.key }.map { name, value in
      (
        "Content-Disposition: form-data; name=\"\(Self.escaped(name))\"\r\n",
        .bytes(Array(value.utf8))
      )
    } + parts
  }

  /// Creates the form of a report, and opens its files.
  ///
  /// The form begins with the fields, sorted by name. The fields include the report's annotations, `guid`, `report_id`,
  /// the fields of `UploadOptions`, and the facts of the crash. Attachments follow, and the minidump is last.
  init(_ contents: ReportContents) {
    // An annotation or a field of `UploadOptions` replaces a fact of the same name.
    fields = contents.fields.merging(contents.factFields) { told, _ in told }
    reportID = contents.reportID
    for (name, file) in contents.attachments {
      addFile(name == Self.minidumpPart ? "attachment_\(name)" : name, fileName: name, file)
    }
    addFile(Self.minidumpPart, fileName: "\(contents.reportID).dmp", contents.minidump)
  }

  mutating func stand(for group: UploadGroup?) {
    self.group = group
    if group?.omission != nil { parts = [] }
  }

  private mutating func addFile(_ name: String, fileName: String, _ file: UploadFile) {
    parts.append(
      (
        "Content-Disposition: form-data; name=\"\(Self.escaped(name))\"; "
          + "filename=\"\(Self.escaped(fileName))\"\r\nContent-Type: application/octet-stream\r\n",
        .file(file)
      ))
  }

  /// Escapes quotation marks, CR and LF in a name.
  ///
  /// Unicode scalars are compared, because Swift treats CR LF as one character, which is equal neither to CR nor to
  /// LF.
  private static func escaped(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\"": result += "%22"
      case "\r": result += "%0D"
      case "\n": result += "%0A"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }

  var headers: [String: String] {
    ["Content-Type": "multipart/form-data; boundary=\(boundary)"]
  }
  var isCompressed: Bool { false }
  var largestRequest: Int64? { nil }
  var smaller: UploadForm? { nil }

  func write(
    at now: Int64, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((UploadFile) -> String)?
  ) throws(CrashReportDatabaseError) {
    for (header, content) in allParts {
      try write(Array("--\(boundary)\r\n\(header)\r\n".utf8))
      switch content {
      case .bytes(let bytes): try write(bytes)
      case .file(let file):
        if let contents {
          try write(Array(contents(file).utf8))
        } else {
          try file.copy(to: write)
        }
      }
      try write(Array("\r\n".utf8))
    }
    try write(Array("--\(boundary)--\r\n".utf8))
  }
}
