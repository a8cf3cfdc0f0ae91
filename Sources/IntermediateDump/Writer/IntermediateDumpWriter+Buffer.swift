/// Shares a writer's buffer with another writer, and returns the size of a dump that has no file.
extension IntermediateDumpWriter {
  /// Creates another writer on the same buffer; only one of the two writers may be used at a time.
  @_noLocks
  package borrowing func sharingBuffer() -> IntermediateDumpWriter {
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: capacity, descriptor: -1, byteLimit: byteLimit)
    writer.asksFile = asksFile
    return writer
  }

  /// The number of bytes of the dump so far; if the dump has no file, all of them are in the buffer.
  public var bufferedCount: Int { @_noLocks get { Int(truncatingIfNeeded: size) } }
}
