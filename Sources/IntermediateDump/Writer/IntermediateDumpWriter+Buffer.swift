/// Access to a writer's buffer: a second writer that uses it, and the number of bytes in it.
extension IntermediateDumpWriter {
  /// Creates another writer on the same buffer; only one of the two writers may be used at a time.
  @_noLocks
  package borrowing func sharingBuffer() -> IntermediateDumpWriter {
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: capacity, descriptor: -1, byteLimit: byteLimit)
    writer.asksFile = asksFile
    return writer
  }

  /// The number of bytes in the buffer, which contains the whole dump if there is no file.
  public var bufferedCount: Int { @_noLocks get { Int(truncatingIfNeeded: size) } }
}
