extension CrashReportDatabaseError {
  /// The text for an error number.
  ///
  /// Code for all systems calls this function, but on this system, no error has a number.
  static func text(_ errno: Int32) -> String { "error \(errno)" }
}
