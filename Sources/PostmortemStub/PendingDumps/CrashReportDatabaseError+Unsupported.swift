extension CrashReportDatabaseError {
  /// The text for an error number.
  ///
  /// Code for all systems calls this function, but on this system, no `CrashReportDatabaseError` has an error number.
  static func text(_ errno: Int32) -> String { "error \(errno)" }
}
