internal import CrashReportDatabase
internal import IntermediateDump

/// The body of a request, in a file in `new/` that is removed when this value is destroyed.
///
/// If an uploader is killed, the next uploader removes this file; if there is no next uploader, the first `prune`
/// after three days removes it.
struct UploadBody: ~Copyable, Sendable {
  let path: String
  /// The size of the body as it is sent, in bytes.
  let size: Int64
  /// The headers that describe the body, by name.
  let headers: [String: String]
  private let directory: Directory
  private let name: String

  static let suffix = ".upload.tmp"

  /// Writes the body, and leaves out parts if the body would be larger than `largestRequest`.
  ///
  /// - Parameter now: the current time in seconds since 1970.
  init(
    _ content: any UploadContent, of id: ReportID, in database: CrashReportDatabase, at now: Int64
  ) throws(CrashReportDatabaseError) {
    let directory = try database.open().subdirectory(.new)
    var content = content
    var written = try Self.write(content, id, directory, at: now)
    while let largest = content.largestRequest, written.size > largest,
      let smaller = content.smaller
    {
      try? directory.remove(written.name)
      content = smaller
      written = try Self.write(content, id, directory, at: now)
    }
    (path, name, size) = (written.path, written.name, written.size)
    var headers = content.headers
    if written.isCompressed { headers["Content-Encoding"] = "gzip" }
    self.headers = headers
    self.directory = directory
  }

  private static func write(
    _ content: any UploadContent, _ id: ReportID, _ directory: borrowing Directory, at now: Int64
  ) throws(CrashReportDatabaseError) -> (
    path: String, name: String, size: Int64, isCompressed: Bool
  ) {
    let file = try directory.createTemporary("\(id)", suffix: suffix)
    var isCompressed = false
    do throws(CrashReportDatabaseError) {
      if content.isCompressed, let gzip = Gzip() {
        isCompressed = true
        try content.write(
          at: now,
          to: { (piece) throws(CrashReportDatabaseError) in
            try file.write(try gzip.compress(piece, isLast: false))
          }, contents: nil)
        try file.write(try gzip.compress([], isLast: true))
      } else {
        try content.write(
          at: now, to: { (piece) throws(CrashReportDatabaseError) in try file.write(piece) },
          contents: nil)
      }
      return (file.path, file.name, try file.status().size, isCompressed)
    } catch {
      try? directory.remove(file.name)
      throw error
    }
  }

  deinit {
    try? directory.remove(name)
  }

  /// Removes request bodies that killed uploaders left; only the holder of the uploader's claim may call this function.
  static func removeLeftovers(
    in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) {
    let directory = try database.open().subdirectory(.new)
    for name in try directory.names() where name.hasSuffix(suffix) { try? directory.remove(name) }
  }
}
