internal import IntermediateDump

extension IntermediateDumpWriter {
  /// Writes a process or thread ID.
  @_noLocks
  mutating func identifier(_ key: IntermediateDumpKey, _ value: Int32) {
    unsigned(key, UInt64(UInt32(bitPattern: value)), width: 4)
  }

  @_noLocks
  mutating func property(_ key: IntermediateDumpKey, _ bytes: Bytes) {
    _ = unsafe property(key, bytes.address, count: bytes.count)
  }

  @_noLocks
  mutating func encoded(_ tokens: Bytes) {
    unsafe encoded(tokens.address, count: tokens.count)
  }
}
