internal import CrashReportDatabase
internal import IntermediateDump

/// A report in the form that a server expects.
protocol UploadContent: Sendable {
  var fields: [String: String] { get set }

  /// Adds the number of reports that the upload represents, and leaves out the report's files if the upload is only a
  /// count.
  mutating func stand(for group: UploadGroup?)

  /// The values, by name, of the headers that a request with this content needs.
  var headers: [String: String] { get }
  var isCompressed: Bool { get }
  /// The maximum number of bytes of a request; a larger request is created again without some parts.
  var largestRequest: Int64? { get }
  /// The content with one more file left out; nil if no file can be left out.
  var smaller: Self? { get }

  /// Passes the body's bytes to `write` in order.
  ///
  /// - Parameters:
  ///   - now: the current time in seconds since 1970.
  ///   - write: receives a piece of at most 256 KiB, one field, or one event.
  ///   - contents: returns a text to write instead of a file's bytes; nil to write the bytes.
  /// - Throws: errors of `write`, and an error if a file became shorter.
  func write(
    at now: Int64, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((UploadFile) -> String)?
  ) throws(CrashReportDatabaseError)
}
