internal import CrashReportDatabase
internal import IntermediateDump

/// A report in the form that a server expects.
protocol UploadContent: Sendable {
  var fields: [String: String] { get set }

  /// Adds the number of reports that the upload counts for, and leaves out the files of a report that is only
  /// counted.
  mutating func stand(for group: UploadGroup?)

  /// The headers that belong to this form, by name.
  var headers: [String: String] { get }
  var isCompressed: Bool { get }
  /// The maximum number of bytes of a request; a larger one is created again without some parts.
  var largestRequest: Int64? { get }
  /// The content without its largest file; nil if nothing more can be left out.
  var smaller: Self? { get }

  /// Passes the body's bytes to `write` in order.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - write: receives a piece of at most 256 KiB, one field, or one event.
  ///   - contents: returns a text that replaces a file; nil for the file's bytes.
  /// - Throws: errors of `write`, and an error if a file became shorter.
  func write(
    at now: Int64, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((UploadFile) -> String)?
  ) throws(CrashReportDatabaseError)
}
