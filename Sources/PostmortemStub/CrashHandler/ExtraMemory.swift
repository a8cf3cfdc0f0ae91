/// Memory ranges for reports.
///
/// On this system, there are no reports, so the functions do nothing.
public enum ExtraMemory {
  /// Does nothing with the range, because this system has no reports.
  ///
  /// - Returns: false if the range is empty. On Linux, the result is also false if there are already 64 other ranges.
  @discardableResult
  public static func add(_ range: UnsafeRawBufferPointer) -> Bool { unsafe !range.isEmpty }

  /// Does nothing.
  public static func remove(_ range: UnsafeRawBufferPointer) {}
}
