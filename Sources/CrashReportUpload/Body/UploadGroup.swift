/// The reports that one upload stands for.
///
/// Decided, and written down with each of them, before the upload begins: what is sent again after a lost
/// answer has the same ID and the same count, and a killed uploader loses none.
struct UploadGroup: Sendable, Equatable {
  /// More wait for the next upload of the signature.
  static let maximumCount = 10_000

  /// Nil where the index of facts has lost it.
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
