public import CrashReportDatabase
public import IntermediateDump

/// A function that runs before each attempt to send a report.
///
/// The function may change the report's fields, or prevent the report from being sent.
///
/// The function may run on any thread, for one report at a time; other reports wait until it returns. The function
/// cannot change the report's files; `UploadOptions.privacy` can leave out parts of the files.
public typealias UploadReview = @Sendable (UploadCandidate) async -> UploadDecision

/// A report that is about to be sent.
public struct UploadCandidate: Sendable {
  public let report: StoredReport
  /// The number of this attempt, from 1.
  public let attempt: Int
  /// The fields by name: annotations, `prod`, `ver`, `guid`, those of `UploadOptions.fields`, and `left_out` if parts
  /// of the report are left out.
  ///
  /// Except for Sentry, the fields also contain facts that this package derives from the report, such as
  /// `report_signature`.
  ///
  /// `report_id` and the fields about sampling, such as `report_count`, are sent in addition.
  public let fields: [String: String]

  public var id: ReportID { report.id }
}

/// The answer of an `UploadReview`.
public struct UploadDecision: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case send([String: String])
    case hold(String)
    case delay(seconds: Int64, String)
  }
  let kind: Kind

  /// The maximum delay in seconds, which is a day; a longer delay is shortened.
  static let longestDelay: Int64 = 24 * 3600

  /// Allows the upload of the report.
  ///
  /// - Parameter fields: the fields that replace the candidate's fields; the minidump keeps its own annotations.
  public static func send(fields: [String: String]) -> UploadDecision {
    UploadDecision(kind: .send(fields))
  }

  /// Keeps the report on this machine until `requestUpload` is called for it; the report is then reviewed again.
  ///
  /// - Parameter reason: a text for people, which is stored in the report's note.
  public static func hold(because reason: String) -> UploadDecision {
    UploadDecision(kind: .hold(reason))
  }

  /// Postpones the report, which stays pending and is reviewed again later.
  ///
  /// - Parameters:
  ///   - delay: the delay, rounded down to whole seconds; a delay of less than a second becomes one second, and a delay
  ///     of more than a day becomes a day.
  ///   - reason: a text for people, which is stored in the report's note.
  public static func delay(by delay: Duration, because reason: String) -> UploadDecision {
    let seconds = min(max(1, delay.components.seconds), Self.longestDelay)
    return UploadDecision(kind: .delay(seconds: seconds, reason))
  }
}
