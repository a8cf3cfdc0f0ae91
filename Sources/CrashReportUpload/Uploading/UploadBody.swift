internal import CrashReportDatabase
internal import IntermediateDump

/// A form in a file, which goes away with this value.
///
/// It lies in `new/`, where nobody reads it. One that a killed uploader left is removed by the next
/// one, and else by the first `prune` after three days.
struct UploadBody: ~Copyable, Sendable {
  let path: String
  let size: Int64
  private let folder: Folder
  private let name: String

  private static let suffix = ".upload.tmp"

  init(
    _ form: MultipartForm, of id: ReportID, in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) {
    let folder = try database.open().subfolder(StoredReport.State.new.rawValue)
    let name = "\(id).\(UInt64.random(in: .min ... .max))\(Self.suffix)"
    guard let file = try folder.create(name) else {
      throw CrashReportDatabaseError(.fileSystemError, "\(folder.path)/\(name) is there already")
    }
    do throws(CrashReportDatabaseError) {
      try form.write(to: { (piece) throws(CrashReportDatabaseError) in try file.write(piece) })
    } catch {
      try? folder.remove(name)
      throw error
    }
    path = "\(folder.path)/\(name)"
    size = form.size
    self.folder = folder
    self.name = name
  }

  deinit {
    try? folder.remove(name)
  }

  /// Removes what killed uploaders left; only the one that is at work may.
  static func removeLeftovers(
    in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) {
    let folder = try database.open().subfolder(StoredReport.State.new.rawValue)
    for name in try folder.names() where name.hasSuffix(suffix) { try? folder.remove(name) }
  }
}
