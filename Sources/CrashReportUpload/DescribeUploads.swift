internal import CrashReportDatabase
package import IntermediateDump

/// Checks a URL and options, as starting an uploader does.
package func checkUpload(to url: String, options: UploadOptions) throws(UploadError) {
  _ = try UploadTarget(url: url, options: options)
}

/// Says what `uploadReports` would send, and sends and changes nothing.
///
/// - Parameters:
///   - ids: these; nil for all that are pending.
///   - write: takes each request as text: its first line, our headers and the body, with path and
///     size of each file in place of its bytes.
package func describeUploads(
  _ ids: [ReportID]?, database path: String, to url: String, options: UploadOptions,
  write: (String) -> Void
) throws(UploadError) {
  let target = try UploadTarget(url: url, options: options)
  do throws(CrashReportDatabaseError) {
    let database = try CrashReportDatabase(path: path)
    let engine = UploadEngine(database: database, target: target, emit: { _ in })
    var described: Set<ReportID> = []
    for report in try database.reports() {
      guard ids?.contains(report.id) ?? (report.state == .pending) else { continue }
      described.insert(report.id)
      let form = try ReportForm.make(report, in: database, fields: options.fields)
      write("POST \(url)\n")
      for (name, value) in engine.headers(of: form).sorted(by: { $0.key < $1.key }) {
        write("\(name): \(value)\n")
      }
      write("Content-Length: \(form.size)\n\n")
      try form.write(
        to: { write(String(decoding: $0, as: UTF8.self)) },
        contents: { "<\($0.size) bytes of \($0.file.path)>" })
      write("\n")
    }
    guard let missing = ids?.first(where: { !described.contains($0) }) else { return }
    throw CrashReportDatabaseError(.noSuchReport, "\(missing)")
  } catch {
    throw error.code == .noSuchReport
      ? UploadError(.noSuchReport, error.context) : UploadError(error)
  }
}
