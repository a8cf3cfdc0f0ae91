extension CrashReportDatabaseError {
  /// The text for an error number; on this system, no function of this package fails with an error number.
  static func text(_ errno: Int32) -> String { "error \(errno)" }
}
