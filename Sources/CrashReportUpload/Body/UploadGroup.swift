/// The reports that one upload represents.
///
/// Some uploads send no minidump, but only the number of reports with the same signature. Before such an upload begins,
/// `SampledUploads` chooses these reports, and stores in the metadata of each one which upload counts it. So an upload
/// that is repeated because its answer was lost has the same ID and count, and a killed uploader loses no report.
struct UploadGroup: Sendable, Equatable {
  /// The maximum number of reports in a group; further reports wait for the next upload of the signature.
  static let maximumCount = 10_000

  /// The signature of the reports; nil if `ReportIndex` has none for them.
  let signature: String?
  /// The number of reports, at least 1.
  let count: Int
  /// The reason why the minidump is not sent; nil if the report is sent complete.
  let omission: String?

  /// The form fields about the group, which reviews and annotations cannot change.
  var fields: [String: String] {
    var fields = ["report_count": "\(count)"]
    fields["report_signature"] = signature
    fields["minidump_left_out"] = omission
    return fields
  }
}
