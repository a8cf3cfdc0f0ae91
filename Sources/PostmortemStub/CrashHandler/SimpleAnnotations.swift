/// Named texts for reports; has no effect on this system, which has no reports.
public enum SimpleAnnotations {
  /// The maximum length in bytes of a name, and of a value.
  public static let maximumLength = 255

  /// Does nothing with the text, because this system has no reports.
  ///
  /// - Returns: whether the handler on Linux would accept this name.
  @discardableResult
  public static func set(_ name: String, _ value: String) -> Bool {
    (1...maximumLength).contains(name.utf8.count)
  }

  /// Does nothing.
  public static func remove(_ name: String) {}
}
