package import IntermediateDump
internal import ProcessSnapshot

/// The first part of our own stream of a minidump: who crashed and when, without reading memory.
package enum MinidumpSummary {
  /// Bytes of the stream that are read; process and exception come first in it.
  static let prefixSize = 256 << 10

  /// Finds the stream by three small reads.
  ///
  /// - Parameter read: reads that many bytes at an offset, fewer where the file ends.
  /// - Returns: the stream as far as it was read, hence torn where it is longer; nil for a minidump
  ///   of somebody else, and for what is none.
  package static func document<Failure: Error>(
    read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
  ) throws(Failure) -> IntermediateDumpDocument? {
    let header = try read(0, MinidumpFormat.headerSize)
    guard header[...].littleEndian(at: 0, width: 4) == UInt64(MinidumpFormat.signature),
      let count = header[...].littleEndian(at: 8, width: 4),
      let directory = header[...].littleEndian(at: 12, width: 4)
    else { return nil }
    let size = MinidumpFormat.directoryEntrySize
    let entries = try read(Int64(clamping: directory), Int(clamping: min(count, 1024)) * size)
    for start in stride(from: 0, to: entries.count - size + 1, by: size) {
      guard let type = entries[...].littleEndian(at: start, width: 4).map(UInt32.init(clamping:)),
        MinidumpStreamType(rawValue: type).isSummarized
      else { continue }
      guard let length = entries[...].littleEndian(at: start + 4, width: 4),
        let offset = entries[...].littleEndian(at: start + 8, width: 4)
      else { return nil }
      let bytes = try read(Int64(clamping: offset), min(Int(clamping: length), prefixSize))
      return try? IntermediateDumpDocument(parsing: bytes)
    }
    return nil
  }
}
