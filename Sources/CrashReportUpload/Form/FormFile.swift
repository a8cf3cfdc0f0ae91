internal import CrashReportDatabase

/// A file that is a part of a form, held open.
final class FormFile: Sendable {
  let file: OpenFile
  /// As it was when it was opened; what comes to be behind that is not sent.
  let size: Int64

  init(_ file: consuming OpenFile) throws(CrashReportDatabaseError) {
    size = try file.status().size
    self.file = file
  }
}
