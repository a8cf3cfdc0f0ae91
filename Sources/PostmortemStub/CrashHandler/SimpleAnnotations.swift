/// Named texts for reports.
///
/// On this system, there are no reports, so the functions do nothing.
public enum SimpleAnnotations {
  /// The maximum length in bytes of a name, and of a value.
  public static let maximumLength = 255

  /// Does nothing with the text, because this system has no reports.
  ///
  /// - Returns: false if the name is empty or longer than 255 bytes. On Linux, the result is also false if there are
  ///   already 64 other names.
  @discardableResult
  public static func set(_ name: String, _ value: String) -> Bool {
    (1...maximumLength).contains(name.utf8.count)
  }

  /// Does nothing.
  public static func remove(_ name: String) {}
}
