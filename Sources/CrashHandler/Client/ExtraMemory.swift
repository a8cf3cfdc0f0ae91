/// Memory ranges that dumps of this process contain, in addition to stacks and the memory that registers point to.
///
/// There can be at most 64 ranges. At most `CaptureLimits.extraMemory` bytes of all ranges together are captured. The
/// bytes are in the minidump's memory list. In a crash, the handler reads the ranges safely, so a range that is no
/// longer mapped is left out. `add` and `remove` never lock, and any thread may call them. Note that the memory may
/// contain secrets. If `HandlerOptions.privacy` is not `full`, dumps leave out these ranges.
///
/// Source: Crashpad `client/simple_address_range_bag.h`.
public enum ExtraMemory {
  /// Adds a range; does nothing if the range was already added.
  ///
  /// - Returns: false if the range is empty, or if there are already 64 other ranges. Reports state how often a range
  ///   was not added because there was no room.
  @discardableResult
  public static func add(_ range: UnsafeRawBufferPointer) -> Bool {
    unsafe withKey(of: range) { key in
      unsafe ClientMemory.ofProcess.memoryRanges.set(
        key: key, keyCount: ClientMemory.rangeCapacity)
    }
  }

  /// Removes a range that was added with the same start and size; does nothing if there is none.
  ///
  /// Call this function before the memory is freed.
  public static func remove(_ range: UnsafeRawBufferPointer) {
    _ = unsafe withKey(of: range) { key in
      unsafe ClientMemory.ofProcess.memoryRanges.remove(
        key: key, keyCount: ClientMemory.rangeCapacity)
      return true
    }
  }

  private static func withKey(
    of range: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer) -> Bool
  ) -> Bool {
    guard let start = range.baseAddress, range.count > 0 else { return false }
    var key = (UInt64(UInt(bitPattern: start)), UInt64(range.count))
    return unsafe body(&key)
  }
}
