package import IntermediateDump

/// Reads the start of this package's stream in a minidump, which describes the process and the exception.
package enum MinidumpSummary {
  /// The maximum number of bytes of the stream that are read, which is enough because the stream begins with the
  /// process and the exception.
  static let prefixSize = 256 << 10
  /// The maximum number of entries of the minidump's directory of streams that are examined.
  private static let maximumCount: UInt64 = 4096

  /// Finds this package's own stream (0x504D0003) with three reads: the header, the directory, and the start of the
  /// stream.
  ///
  /// - Parameter read: reads a number of bytes at an offset, or fewer at the end of the file.
  /// - Returns: the part of the stream that was read, which is a truncated document if the stream is longer than
  ///   `prefixSize`. Nil for a minidump of another writer, for other files, and if the stream cannot be parsed.
  package static func document<Failure: Error>(
    read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
  ) throws(Failure) -> IntermediateDumpDocument? {
    let header = try read(0, MinidumpFormat.headerSize)
    guard header.littleEndian(at: 0, as: UInt32.self) == MinidumpFormat.signature,
      let count = header.littleEndian(at: 8, width: 4),
      let directory = header.littleEndian(at: 12, width: 4)
    else { return nil }
    let entrySize = MinidumpFormat.directoryEntrySize
    let entries = try read(
      Int64(clamping: directory), Int(clamping: min(count, maximumCount)) * entrySize)
    for start in stride(from: 0, to: entries.count, by: entrySize) {
      guard let type = entries.littleEndian(at: start, as: UInt32.self),
        let size = entries.littleEndian(at: start + 4, width: 4),
        let offset = entries.littleEndian(at: start + 8, width: 4)
      else { break }
      guard MinidumpStreamType(rawValue: type) == .postmortemDump else { continue }
      let bytes = try read(Int64(clamping: offset), min(Int(clamping: size), prefixSize))
      return try? IntermediateDumpDocument(parsing: bytes)
    }
    return nil
  }
}
