internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// A report as a form, as Crashpad and Breakpad send it: a body of type `multipart/form-data` that is
/// written piece by piece, so that it is never in memory.
///
/// Source: RFC 7578; RFC 2046, 5.1; WHATWG HTML, "multipart/form-data" for names; Crashpad
/// `handler/minidump_to_upload_parameters.cc`, `handler/crash_report_upload_thread.cc`; Breakpad
/// `client/linux/sender/google_crash_report_sender.cc`.
struct UploadForm: Sendable {
  /// The minidump's part, by the name that every server looks for.
  private static let minidumpPart = "upload_file_minidump"

  /// The largest minidump that is written again with less in it, in bytes.
  private static let largestRewritten = 4 << 30

  /// A file that is a part, held open.
  final class File: Sendable {
    let file: OpenFile
    /// The size when it was opened; later bytes are not sent.
    let size: Int64

    init(_ file: consuming OpenFile) throws(CrashReportDatabaseError) {
      size = try file.status().size
      self.file = file
    }
  }

  private enum Content: Sendable {
    case bytes([UInt8])
    case file(File)

    var size: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .file(let file): file.size
      }
    }
  }

  /// 122 random bits: no content holds it.
  private let boundary = "---postmortem-\(ReportID())"
  private var parts: [(header: String, content: Content)] = []
  private let reportID: ReportID
  /// By name, without `report_id`, by which a server can tell a report that it has already.
  var fields: [String: String] = [:]
  /// What the upload stands for; nil for the report alone.
  private var group: UploadGroup?

  /// The fields' parts, then those of the files.
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

  /// Makes the form of a report, and opens its files.
  ///
  /// Fields are the annotations, with `prod`, `ver` and `guid` among them, by name; attachments
  /// follow, and last the minidump.
  init(
    _ report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions
  ) throws(CrashReportDatabaseError) {
    let minidump =
      if options.privacy > .full {
        try File(Self.private(report, in: database, options.privacy))
      } else {
        try File(try database.openReport(report))
      }
    // A report whose annotations cannot be read is sent without them.
    let described = MinidumpAnnotations { offset, count in
      (try? minidump.file.read(at: offset, count: count)) ?? []
    }
    var fields = described?.annotations ?? [:]
    let client =
      if let clientID = described?.clientID { clientID } else { try database.clientID() }
    fields["guid"] = fields["guid"] ?? client.description
    fields.merge(options.fields) { _, new in new }
    self.fields = fields
    reportID = report.id
    let attachments = options.privacy > .full ? [] : try database.attachments(of: report.id)
    if !attachments.isEmpty {
      let directory = try database.open().subdirectory(CrashReportDatabase.attachmentsDirectory)
        .subdirectory(report.id.description)
      for attachment in attachments {
        let name = attachment.name
        try addFile(
          name == Self.minidumpPart ? "attachment_\(name)" : name, fileName: name,
          File(try directory.open(name)))
      }
    }
    addFile(Self.minidumpPart, fileName: "\(report.id).dmp", minidump)
  }

  /// Says for how many reports the upload stands, and leaves out the files of one that is not sent whole.
  mutating func stand(for group: UploadGroup?) {
    self.group = group
    if group?.omission != nil { parts = [] }
  }

  /// A report's minidump with less in it, in a file without a name.
  private static func `private`(
    _ report: StoredReport, in database: CrashReportDatabase, _ privacy: ReportPrivacy
  ) throws(CrashReportDatabaseError) -> OpenFile {
    let bytes = try database.openReport(report).dumpBytes(limit: Self.largestRewritten)
    let directory = try database.open().subdirectory(.new)
    let file = try directory.createTemporary("\(report.id)", suffix: ".upload.tmp")
    try? directory.remove(file.name)
    do throws(MinidumpError) {
      let snapshot = try MinidumpReader.snapshot(of: bytes)
        .keeping(privacy, symbols: privacy == .sanitized ? nil : SymbolSource())
      try MinidumpWriter.write(snapshot, to: file.descriptor)
    } catch {
      throw CrashReportDatabaseError(
        .fileSystemError, "\(report.id) cannot be made \(privacy.name): \(error)")
    }
    return file
  }

  private mutating func addFile(_ name: String, fileName: String, _ file: File) {
    parts.append(
      (
        "Content-Disposition: form-data; name=\"\(Self.escaped(name))\"; "
          + "filename=\"\(Self.escaped(fileName))\"\r\nContent-Type: application/octet-stream\r\n",
        .file(file)
      ))
  }

  /// By scalars: CR LF is one character to Swift, and would be neither.
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

  var contentType: String { "multipart/form-data; boundary=\(boundary)" }

  /// Bytes of the whole body.
  var size: Int64 {
    allParts.reduce(Int64(end.utf8.count)) { sum, part in
      sum.clampedAdding(part.content.size)
        .clampedAdding(Int64(start(of: part.header).utf8.count + 2))
    }
  }

  /// Gives the body's bytes in order.
  ///
  /// - Parameters:
  ///   - write: takes a piece of at most 256 KiB, or one field.
  ///   - contents: gives a text in place of a file; nil for the file's bytes.
  /// - Throws: errors of `write`, and an error where a file became shorter than it was.
  func write(
    to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((File) -> String)? = nil
  ) throws(CrashReportDatabaseError) {
    for (header, content) in allParts {
      try write(Array(start(of: header).utf8))
      switch content {
      case .bytes(let bytes): try write(bytes)
      case .file(let file):
        if let contents {
          try write(Array(contents(file).utf8))
        } else {
          try Self.copy(file, to: write)
        }
      }
      try write(Array("\r\n".utf8))
    }
    try write(Array(end.utf8))
  }

  private static func copy(
    _ file: File, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) {
    var offset: Int64 = 0
    while offset < file.size {
      let piece = try file.file.read(
        at: offset, count: Int(clamping: min(file.size &- offset, 256 << 10)))
      guard !piece.isEmpty else {
        throw CrashReportDatabaseError(
          .fileSystemError, "\(file.file.path) became shorter while it was read")
      }
      try write(piece)
      offset &+= Int64(piece.count)
    }
  }

  private func start(of header: String) -> String { "--\(boundary)\r\n\(header)\r\n" }
  private var end: String { "--\(boundary)--\r\n" }
}

/// A form in a file of `new/`, which is removed with this value.
///
/// The next uploader removes the file of a killed one, or else the first `prune` after three days.
struct UploadBody: ~Copyable, Sendable {
  let path: String
  let size: Int64
  private let directory: Directory
  private let name: String

  private static let suffix = ".upload.tmp"

  init(
    _ form: UploadForm, of id: ReportID, in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) {
    let directory = try database.open().subdirectory(.new)
    let file = try directory.createTemporary("\(id)", suffix: Self.suffix)
    do throws(CrashReportDatabaseError) {
      try form.write(to: { (piece) throws(CrashReportDatabaseError) in try file.write(piece) })
    } catch {
      try? directory.remove(file.name)
      throw error
    }
    path = file.path
    name = file.name
    size = form.size
    self.directory = directory
  }

  deinit {
    try? directory.remove(name)
  }

  /// Removes files of killed uploaders; for the holder of the claim only.
  static func removeLeftovers(
    in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) {
    let directory = try database.open().subdirectory(.new)
    for name in try directory.names() where name.hasSuffix(suffix) { try? directory.remove(name) }
  }
}
