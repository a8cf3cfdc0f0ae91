/// Names and texts for reports, which do not exist on this system.
public enum SimpleAnnotations {
  /// The number of bytes of the longest name and of the longest value.
  public static let maximumLength = 255

  /// Keeps nothing.
  ///
  /// - Returns: whether the name is one that Linux takes.
  @discardableResult
  public static func set(_ name: String, _ value: String) -> Bool {
    (1...maximumLength).contains(name.utf8.count)
  }

  /// Does nothing.
  public static func remove(_ name: String) {}
}
