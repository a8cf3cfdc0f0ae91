/// The reports that one upload counts for.
///
/// They are chosen, and recorded with each report, before the upload begins. So an upload that is repeated after a
/// lost answer has the same ID and count, and a killed uploader loses no report.
struct UploadGroup: Sendable, Equatable {
  /// More wait for the next upload of the signature.
  static let maximumCount = 10_000

  /// Nil if the index has lost it.
  let signature: String?
  /// At least 1.
  let count: Int
  /// The reason why the minidump is not sent; nil for a whole report.
  let omission: String?

  /// Form fields, which no review and no annotation changes.
  var fields: [String: String] {
    var fields = ["report_count": "\(count)"]
    fields["report_signature"] = signature
    fields["minidump_left_out"] = omission
    return fields
  }
}
