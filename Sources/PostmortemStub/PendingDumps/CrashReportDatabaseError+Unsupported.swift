extension CrashReportDatabaseError {
  /// The text for an error number of the system; on this system, no call here fails with one.
  static func text(_ errno: Int32) -> String { "error \(errno)" }
}
