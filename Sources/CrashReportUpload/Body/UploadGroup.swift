/// The reports that one upload represents.
///
/// Before an upload that is only a count begins, `SampledUploads` chooses the reports, and stores with each report that
/// it is counted with this upload. So an upload that is repeated because its answer was lost has the same ID and count,
/// and a killed uploader loses no report.
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
