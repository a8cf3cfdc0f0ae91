internal import IntermediateDump

extension ProcessSnapshot {
  /// The maximum number of bytes of all XSAVE areas that are written; if an area does not fit, only its first 512 bytes
  /// are written.
  private static var extendedStateLimit: Int { 8 << 20 }
  /// The maximum number of bytes of `/proc/self/maps` that are written as one property.
  private static var chunkSize: Int { 1 << 20 }

  /// Returns the complete snapshot as an intermediate dump, with the converter's additions but without bytes of
  /// memory.
  ///
  /// If the dump is read back with the same memory, the new snapshot equals this one except for four parts. These parts
  /// are streams that the converter added, annotations of modules (except copies of the program's typed annotations), a
  /// foreign exception, and XSAVE areas past 8 MiB in total.
  ///
  /// - Returns: nil if the dump would be larger than 256 MiB.
  package func encoded() -> [UInt8]? {
    let sizeHint = 16 << 10 + threads.count * 4096 + (process.mapsText?.count ?? 0)
    let encoded = IntermediateDumpEncoding.encode(sizeHint: sizeHint) { writer in
      writer.header()
      for field in Self.beforeThreads { field.write(self, &writer) }
      if let exception { writer.map(.exception, exception, ExceptionSnapshot.mapFields) }
      writeThreads(to: &writer)
      writeMappings(to: &writer)
      writer.startArray(.modules)
      for module in modules { module.write(to: &writer) }
      writer.end()
      for field in Self.afterThreads { field.write(self, &writer) }
      _ = writer.endDocument()
    }
    guard var bytes = encoded else { return nil }
    // The writer puts the architecture of this machine into the header, but the process may have run on the other
    // architecture.
    bytes[10] = architecture == .arm64 ? 2 : 1
    return bytes
  }

  private func writeThreads(to writer: inout IntermediateDumpWriter) {
    var extendedStateLeft = Self.extendedStateLimit
    let crashed = exception?.threadID
    // The crashed thread is written first, so that a reader finds it without reading the other threads.
    crashedThread?.write(as: .crashingThread, extendedStateLeft: &extendedStateLeft, to: &writer)
    writer.startArray(.threads)
    for thread in threads where thread.id != crashed {
      thread.write(as: .thread, extendedStateLeft: &extendedStateLeft, to: &writer)
    }
    writer.end()
  }

  private func writeMappings(to writer: inout IntermediateDumpWriter) {
    guard let text = process.mapsText else { return }
    writer.startArray(.mappings)
    for start in stride(from: 0, to: text.count, by: Self.chunkSize) {
      writer.startMap(.mappingsChunk)
      writer.write(.mappingsText, Array(text[start..<min(start + Self.chunkSize, text.count)]))
      writer.end()
    }
    writer.end()
  }
}
