internal import IntermediateDump

/// One section of a file with debug information.
///
/// The section is read from the file in pieces. But a compressed section is expanded into memory when it is first used.
///
/// Source: gABI, chapter 4 (`SHF_COMPRESSED`, `Elf64_Chdr`).
/// Source: binutils' bfd/compress.c for the older `.zdebug_` sections.
final class DebugSection {
  /// Why a compressed section cannot be read.
  enum Obstacle: Error {
    case zstandard
    case unknownCompression
    case damaged
    case tooLarge
  }

  /// The maximum size in bytes of a compressed section's contents; a larger section is not expanded.
  static let maximumExpandedSize = 512 << 20
  /// The number of `WorkLimit` steps that are counted for each sixteen expanded bytes.
  private static let expansionSteps = 4
  private static let compressedFlag: UInt64 = 0x800

  private let image: ELFImage
  private let limit: WorkLimit
  private let offset: UInt64
  /// The number of bytes that the section, which may be compressed, takes in the file.
  private let storedSize: UInt64
  private enum Compression { case none, header, zdebug }
  private let compression: Compression
  /// The expanded bytes of a compressed section, or why it cannot be expanded; nil before its first use.
  private var result: Result<[UInt8], Obstacle>?
  /// The piece of the section that was last read for an integer; the next integer is usually in the same piece.
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0
  private static let windowSize = 1 << 14

  /// Finds a section, or its compressed form, whose name begins with `.zdebug_`; nil if the file has neither.
  ///
  /// - Parameters:
  ///   - name: the section's name, such as ".debug_info".
  ///   - limit: limits the work of reading, and the memory for a compressed section.
  init?(_ name: String, of image: ELFImage, _ limit: WorkLimit = WorkLimit()) {
    self.image = image
    self.limit = limit
    let modern = image.elf.section(named: name)
    guard let section = modern ?? image.elf.section(named: ".z" + name.dropFirst()) else {
      return nil
    }
    compression =
      modern == nil ? .zdebug : section.flags & Self.compressedFlag != 0 ? .header : .none
    offset = section.fileOffset
    storedSize = section.size
  }

  /// The reason why the section cannot be read; nil if it can be read or was not needed.
  var obstacle: Obstacle? {
    guard case .failure(let obstacle) = result else { return nil }
    return obstacle
  }

  /// The number of bytes of the expanded contents; 0 if they cannot be read.
  var size: UInt64 {
    if compression == .none { return storedSize }
    guard case .success(let bytes) = expanded else { return 0 }
    return UInt64(bytes.count)
  }

  /// Reads `count` bytes at an offset; nil if the section is shorter or cannot be read.
  func bytes(at start: UInt64, count: Int) -> [UInt8]? {
    guard count >= 0, start <= size, UInt64(count) <= size &- start else { return nil }
    if compression != .none {
      guard case .success(let bytes) = expanded, let start = Int(exactly: start) else { return nil }
      return Array(bytes[start..<start + count])
    }
    let (place, overflow) = offset.addingReportingOverflow(start)
    return overflow ? nil : image.elf.file.bytes(at: place, count: count)
  }

  /// Reads a little-endian integer of 1 to 8 bytes; nil if the bytes are not all in the section or cannot be read.
  func integer(at start: UInt64, width: Int) -> UInt64? {
    guard width > 0 else { return nil }
    if start >= windowStart,
      let value = window.littleEndian(at: Int(clamping: start &- windowStart), width: width)
    {
      return value
    }
    // Reading another piece takes about as long as 64 steps.
    guard limit.spend(64), let bytes = prefix(at: start, count: Self.windowSize) else {
      return nil
    }
    window = bytes
    windowStart = start
    return window.littleEndian(at: 0, width: width)
  }

  /// Reads at most `count` bytes that start at an offset; nil if the offset is outside the section or the bytes cannot
  /// be read.
  func prefix(at start: UInt64, count: Int) -> [UInt8]? {
    guard start < size else { return nil }
    return bytes(at: start, count: Int(clamping: min(UInt64(count), size &- start)))
  }

  /// Reads the NUL-terminated text at an offset; nil if it does not end within 64 KiB, cannot be read, or
  /// exceeds the work limit.
  func text(at start: UInt64) -> String? {
    var count = 256
    while count <= 1 << 16, limit.spend(count / 16),
      let bytes = prefix(at: start, count: count)
    {
      if let end = bytes.firstIndex(of: 0) {
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      guard bytes.count == count else { return nil }
      count *= 16
    }
    return nil
  }

  private var expanded: Result<[UInt8], Obstacle> {
    if let result { return result }
    let result = expand()
    self.result = result
    return result
  }

  private func expand() -> Result<[UInt8], Obstacle> {
    guard storedSize <= UInt64(Self.maximumExpandedSize), limit.take(Int(clamping: storedSize))
    else { return .failure(.tooLarge) }
    defer { limit.giveBack(Int(clamping: storedSize)) }
    guard let bytes = image.elf.file.bytes(at: offset, count: Int(clamping: storedSize)) else {
      return .failure(.damaged)
    }
    var start = 24
    var size: UInt64?
    if compression == .zdebug {
      start = 12
      guard bytes.starts(with: Array("ZLIB".utf8)) else { return .failure(.unknownCompression) }
      size = bytes.littleEndian(at: 4, as: UInt64.self)?.byteSwapped
    } else {
      switch bytes.littleEndian(at: 0, as: UInt32.self) {
      case 1: size = bytes.littleEndian(at: 8, as: UInt64.self)
      case 2: return .failure(.zstandard)
      case nil: return .failure(.damaged)
      default: return .failure(.unknownCompression)
      }
    }
    guard let size else { return .failure(.damaged) }
    guard size <= UInt64(Self.maximumExpandedSize) else { return .failure(.tooLarge) }
    // Deflate expands one byte to at most 1,032 bytes, so a section that announces more is damaged.
    guard size / 1032 <= storedSize else { return .failure(.damaged) }
    guard limit.spend(Int(clamping: size / 16) * Self.expansionSteps),
      limit.take(Int(clamping: size))
    else { return .failure(.tooLarge) }
    guard let contents = Inflate.expand(bytes, from: start, size: Int(clamping: size)) else {
      limit.giveBack(Int(clamping: size))
      return .failure(.damaged)
    }
    return .success(contents)
  }
}

/// The sections of one file that describe functions and lines; a section that the file lacks is nil.
struct DWARFSections {
  let info: DebugSection?
  let abbreviations: DebugSection?
  let line: DebugSection?
  let lineStrings: DebugSection?
  let strings: DebugSection?
  let stringOffsets: DebugSection?
  let addresses: DebugSection?
  let ranges: DebugSection?
  let rangeLists: DebugSection?
  let addressRanges: DebugSection?

  init(of image: ELFImage, _ limit: WorkLimit) {
    info = DebugSection(".debug_info", of: image, limit)
    abbreviations = DebugSection(".debug_abbrev", of: image, limit)
    line = DebugSection(".debug_line", of: image, limit)
    lineStrings = DebugSection(".debug_line_str", of: image, limit)
    strings = DebugSection(".debug_str", of: image, limit)
    stringOffsets = DebugSection(".debug_str_offsets", of: image, limit)
    addresses = DebugSection(".debug_addr", of: image, limit)
    ranges = DebugSection(".debug_ranges", of: image, limit)
    rangeLists = DebugSection(".debug_rnglists", of: image, limit)
    addressRanges = DebugSection(".debug_aranges", of: image, limit)
  }

  /// A note that `.debug_info`, `.debug_abbrev`, `.debug_line` or `.debug_str` was needed but could not be
  /// decompressed; nil if this did not happen to any of them.
  var note: String? {
    for section in [info, abbreviations, line, strings] {
      switch section?.obstacle {
      case .zstandard: return "its debug information is compressed with zstd, which is not read"
      case .unknownCompression: return "its debug information is compressed in an unknown way"
      case .damaged: return "its compressed debug information is damaged"
      case .tooLarge: return "its compressed debug information is too large to be read"
      case nil: continue
      }
    }
    return nil
  }
}
