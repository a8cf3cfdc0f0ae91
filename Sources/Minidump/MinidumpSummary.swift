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
    guard let directory = try MinidumpDirectory(read: read),
      let place = directory.places.first(where: { $0.type.isSummarized })
    else { return nil }
    let bytes = try read(place.offset, min(place.size, prefixSize))
    return try? IntermediateDumpDocument(parsing: bytes)
  }
}

/// The places of a minidump's streams, read without the rest of it.
struct MinidumpDirectory {
  private static let maximumCount: UInt64 = 4096

  private(set) var places: [(type: MinidumpStreamType, offset: Int64, size: Int)] = []

  /// Nil if the file is no minidump.
  init?<Failure: Error>(
    read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
  ) throws(Failure) {
    let header = try read(0, MinidumpFormat.headerSize)[...]
    guard header.littleEndian(at: 0, width: 4) == UInt64(MinidumpFormat.signature),
      let count = header.littleEndian(at: 8, width: 4),
      let directory = header.littleEndian(at: 12, width: 4)
    else { return nil }
    let entrySize = MinidumpFormat.directoryEntrySize
    let entries = try read(
      Int64(clamping: directory), Int(clamping: min(count, Self.maximumCount)) * entrySize)[...]
    for start in stride(from: 0, to: entries.count, by: entrySize) {
      guard let type = entries.littleEndian(at: start, width: 4),
        let size = entries.littleEndian(at: start + 4, width: 4),
        let offset = entries.littleEndian(at: start + 8, width: 4)
      else { break }
      places.append(
        (
          MinidumpStreamType(rawValue: UInt32(clamping: type)), Int64(clamping: offset),
          Int(clamping: size)
        ))
    }
  }
}
