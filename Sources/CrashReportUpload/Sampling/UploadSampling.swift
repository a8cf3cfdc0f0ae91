/// The reports of one signature that are sent whole; others are sent as a count.
///
/// Beyond the bound all pending reports of a signature are one upload without minidumps and attachments: a
/// form with `report_count`, the reports that it stands for, and `minidump_left_out`, the reason. The
/// minidumps stay in the database, and `requestUpload` sends one. A report without a signature is sent
/// whole.
public struct UploadSampling: Sendable, Equatable {
  /// Reports of one signature that are sent whole within a window; 5 by default.
  public var wholeReports = 5
  /// The time in which whole reports are counted; in whole seconds, an hour by default.
  public var window = Duration.seconds(3600)

  /// The defaults: 5 whole reports of a signature an hour.
  public init() {}
}
