internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump

/// A report as a form, as Crashpad and Breakpad send it.
///
/// Source: Crashpad `handler/minidump_to_upload_parameters.cc`,
/// `handler/crash_report_upload_thread.cc`; Breakpad `client/linux/sender/google_crash_report_sender.cc`.
package enum ReportForm {
  /// The minidump's part, by the name that every server looks for.
  package static let minidumpPart = "upload_file_minidump"
  /// The same with each attempt, so that a server can tell what it has already.
  package static let reportIDField = "report_id"

  /// Makes the form of a report; its files are open then.
  ///
  /// Fields are the annotations, with `prod`, `ver` and `guid` among them, in the order of their
  /// names; attachments follow, and last the minidump.
  static func make(
    _ report: StoredReport, in database: CrashReportDatabase, fields extra: [String: String]
  ) throws(CrashReportDatabaseError) -> MultipartForm {
    let minidump = try FormFile(try database.openReport(report))
    // A report whose annotations cannot be read is sent without them: the server sees why.
    let described = MinidumpAnnotations { offset, count in
      (try? minidump.file.read(at: offset, count: count)) ?? []
    }
    var fields = described?.annotations ?? [:]
    let client =
      if let clientID = described?.clientID { clientID } else { try database.clientID() }
    fields["guid"] = fields["guid"] ?? client.description
    fields.merge(extra) { _, new in new }
    fields[reportIDField] = report.id.description
    var form = MultipartForm()
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      form.parts.append(.field(name, value))
    }
    for (name, file) in try database.attachmentFiles(of: report.id) {
      let part = name == minidumpPart ? "attachment_\(name)" : name
      form.parts.append(.file(part, fileName: name, file))
    }
    form.parts.append(.file(minidumpPart, fileName: "\(report.id).dmp", minidump))
    return form
  }
}

extension CrashReportDatabase {
  /// What belongs to a report beside its minidump, by name.
  fileprivate func attachmentFiles(
    of id: ReportID
  ) throws(CrashReportDatabaseError) -> [(name: String, file: FormFile)] {
    let attachments = try attachments(of: id)
    guard !attachments.isEmpty else { return [] }
    let folder = try open().subfolder(Self.attachmentsFolder).subfolder(id.description)
    var files: [(name: String, file: FormFile)] = []
    for attachment in attachments {
      files.append((attachment.name, try FormFile(try folder.open(attachment.name))))
    }
    return files
  }
}
