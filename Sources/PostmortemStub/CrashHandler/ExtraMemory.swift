/// Memory ranges for reports; has no effect on this system, which has no reports.
public enum ExtraMemory {
  /// Does nothing with the range, because this system has no reports.
  ///
  /// - Returns: whether the handler on Linux would accept this range.
  @discardableResult
  public static func add(_ range: UnsafeRawBufferPointer) -> Bool { unsafe !range.isEmpty }

  /// Does nothing.
  public static func remove(_ range: UnsafeRawBufferPointer) {}
}
