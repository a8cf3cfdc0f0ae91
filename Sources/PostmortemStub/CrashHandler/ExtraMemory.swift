/// Memory ranges for reports, which do not exist on this system.
public enum ExtraMemory {
  /// Keeps nothing.
  ///
  /// - Returns: whether the range is one that Linux takes.
  @discardableResult
  public static func add(_ range: UnsafeRawBufferPointer) -> Bool { unsafe !range.isEmpty }

  /// Does nothing.
  public static func remove(_ range: UnsafeRawBufferPointer) {}
}
