internal import IntermediateDump
internal import ProcessSnapshot

/// The bytes of a minidump, and the directory of the streams in it.
///
/// The methods of this type check the offsets and lengths that the file contains.
struct MinidumpFile {
  /// The maximum number of entries that are read from one list, 16 times the limit of Breakpad's reader for threads.
  static let maximumEntries = 1 << 16
  /// The maximum number of bytes of a MINIDUMP_STRING, which is enough for a path (at most 4,096 bytes on Linux).
  static let maximumStringSize: UInt64 = 1 << 16

  let bytes: DumpBytes
  /// The range of each stream's bytes; if the file has several streams of a type, the first is used.
  private(set) var streams: [MinidumpStreamType: Range<Int>] = [:]
  /// The exception streams; debuggers write one for each thread that had stopped.
  private(set) var exceptions: [Range<Int>] = []
  /// The time in the header, in seconds since 1970.
  let timeStamp: UInt32
  /// Descriptions of damage in the file, at most eight.
  private(set) var damage: [String] = []
  /// The number of bytes that may still be copied from the file.
  ///
  /// The number is limited because a malicious file may refer to the same bytes many times.
  private var copyBudget: Int

  /// Reads the header and the directory.
  ///
  /// - Parameter limit: the maximum number of bytes that may be copied from the file. A limit above four times the
  ///   file's size plus 1 MiB has no effect.
  init(_ bytes: DumpBytes, copying limit: Int = .max) throws(MinidumpError) {
    self.bytes = bytes
    copyBudget = min(limit, 4 * bytes.count + 1 << 20)
    let header = bytes.slice(0..<min(bytes.count, MinidumpFormat.headerSize)) ?? []
    guard bytes.count >= MinidumpFormat.headerSize,
      let signature = header.littleEndian(at: 0, width: 4),
      let version = header.littleEndian(at: 4, width: 4),
      let count = header.littleEndian(at: 8, width: 4),
      let directory = header.littleEndian(at: 12, width: 4)
    else {
      throw MinidumpError(.notAMinidump, "\(bytes.count) bytes, fewer than a header has")
    }
    guard signature == MinidumpFormat.signature else {
      throw MinidumpError(
        .notAMinidump, signature == 0 ? "it was never finished" : "wrong signature at byte 0")
    }
    guard version & 0xFFFF == MinidumpFormat.version else {
      throw MinidumpError(.notAMinidump, "unknown version \(version & 0xFFFF) at byte 4")
    }
    timeStamp = UInt32(truncatingIfNeeded: header.littleEndian(at: 20, width: 4) ?? 0)
    readDirectory(at: Int(clamping: directory), count: Int(clamping: count))
  }

  private mutating func readDirectory(at start: Int, count: Int) {
    let size = MinidumpFormat.directoryEntrySize
    let fitting = start <= bytes.count ? (bytes.count - start) / size : 0
    if count > fitting { note("the directory reaches past the end of the file") }
    for index in 0..<min(count, fitting, Self.maximumEntries) {
      let entry = start + index * size
      guard let type = integer(at: entry, width: 4), type != 0 else { continue }
      let streamType = MinidumpStreamType(rawValue: UInt32(truncatingIfNeeded: type))
      guard let range = location(at: entry + 4) else {
        note("stream \(type) reaches past the end of the file")
        continue
      }
      if streams[streamType] == nil { streams[streamType] = range }
      if streamType == .exception { exceptions.append(range) }
    }
  }

  /// Records a description of damage; only the first eight are kept.
  mutating func note(_ text: String) {
    if damage.count < 8 { damage.append(text) }
  }

  /// The little-endian integer at an offset; nil if the integer is not inside the file.
  func integer(at offset: Int, width: Int) -> UInt64? {
    bytes.integer(at: offset, width: width)
  }

  /// The range of `size` bytes from `rva` on; nil unless all of them are inside the file.
  func range(rva: UInt64, size: UInt64) -> Range<Int>? {
    let count = UInt64(bytes.count)
    guard rva <= count, size <= count &- rva else { return nil }
    return Int(clamping: rva)..<Int(clamping: rva &+ size)
  }

  /// Follows a MINIDUMP_LOCATION_DESCRIPTOR; nil if it refers to bytes outside the file.
  func location(at offset: Int) -> Range<Int>? {
    guard let size = integer(at: offset, width: 4), let rva = integer(at: offset + 4, width: 4)
    else { return nil }
    return range(rva: rva, size: size)
  }

  /// Copies bytes from the file; nil if they cannot be read, or if all copies together would then exceed the limit on
  /// copies.
  mutating func copy(_ range: Range<Int>) -> [UInt8]? {
    spend(range.count) ? bytes.slice(range).map(Array.init) : nil
  }

  /// Reads captured memory, which counts toward the limit on copies, because a file may refer to the same bytes many
  /// times.
  mutating func take(_ range: Range<Int>) -> CapturedBytes? {
    spend(range.count) ? CapturedBytes(of: bytes, range) : nil
  }

  private mutating func spend(_ count: Int) -> Bool {
    guard count <= copyBudget else { return false }
    copyBudget -= count
    return true
  }

  mutating func copy(_ type: MinidumpStreamType) -> [UInt8]? {
    streams[type].flatMap { copy($0) }
  }

  /// The file offsets of the entries of a stream that consists of a 32-bit count and entries of the same size.
  mutating func entries(of type: MinidumpStreamType, size: Int) -> [Int] {
    guard let stream = streams[type] else { return [] }
    guard stream.count >= 4, let claimed = integer(at: stream.lowerBound, width: 4) else {
      note("stream \(type.rawValue) is too short")
      return []
    }
    // Some of Breakpad's writers align the first entry to 8 bytes.
    let isPadded =
      claimed < UInt64(stream.count) && stream.count == 8 + Int(clamping: claimed) * size
    let start = stream.lowerBound + (isPadded ? 8 : 4)
    let fitting = max(0, stream.upperBound - start) / size
    if claimed > UInt64(fitting) { note("stream \(type.rawValue) is shorter than its list") }
    let count = min(Int(clamping: claimed), fitting, Self.maximumEntries)
    return (0..<count).map { start + $0 * size }
  }

  /// Reads a MINIDUMP_STRING; nil if the string is damaged or too long, or if no more bytes may be copied from the
  /// file.
  ///
  /// Invalid UTF-16 is replaced by U+FFFD.
  mutating func string(at rva: UInt64) -> String? {
    guard let offset = Int(exactly: rva), let size = integer(at: offset, width: 4),
      size <= Self.maximumStringSize, let range = range(rva: rva &+ 4, size: size),
      let bytes = copy(range)
    else { return nil }
    let units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).map { index in
      UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// Reads Crashpad's MinidumpUTF8String.
  mutating func utf8String(at rva: UInt64) -> String? {
    byteArray(at: rva).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads Crashpad's MinidumpByteArray.
  mutating func byteArray(at rva: UInt64) -> [UInt8]? {
    guard let offset = Int(exactly: rva), let size = integer(at: offset, width: 4),
      let range = range(rva: rva &+ 4, size: size)
    else { return nil }
    return copy(range)
  }
}
