extension CrashReportDatabaseError {
  /// The system's error number, of which no call here has one.
  static func text(_ errno: Int32) -> String { "error \(errno)" }
}
