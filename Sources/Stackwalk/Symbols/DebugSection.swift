/// One section of debug information: read in pieces from the file or, where it is compressed,
/// expanded into memory when it is first asked for.
///
/// Source: gABI, chapter 4 (`SHF_COMPRESSED`, `Elf64_Chdr`); binutils' bfd/compress.c for the older
/// `.zdebug_` sections.
final class DebugSection {
  /// Why a section that is there cannot be read.
  enum Obstacle: Error {
    case zstandard
    case unknownCompression
    case damaged
    case tooLarge
  }

  /// The most bytes that a compressed section is expanded to.
  static let maximumExpandedSize = 512 << 20
  private static let compressedFlag: UInt64 = 0x800

  private let image: ELFImage
  private let offset: UInt64
  /// Bytes of the section as it lies in the file.
  private let storedSize: UInt64
  private enum Compression { case none, header, zdebug }
  private let compression: Compression
  private lazy var expanded: Result<[UInt8], Obstacle> = expand()
  /// The piece of the file that was read last for a small value: the next one mostly lies in it.
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0
  private static let windowSize = 1 << 14

  /// The section `name` or its compressed sister; nil if the file has neither.
  ///
  /// - Parameter name: such as ".debug_info".
  init?(_ name: String, of image: ELFImage) {
    self.image = image
    if let section = image.elf.section(named: name) {
      compression = section.flags & Self.compressedFlag != 0 ? .header : .none
      offset = section.fileOffset
      storedSize = section.size
    } else if let section = image.elf.section(named: ".z" + name.dropFirst()) {
      compression = .zdebug
      offset = section.fileOffset
      storedSize = section.size
    } else {
      return nil
    }
  }

  /// Why nothing can be read of it; nil where it can.
  var obstacle: Obstacle? {
    guard compression != .none, case .failure(let obstacle) = expanded else { return nil }
    return obstacle
  }

  /// Bytes of contents; 0 where they cannot be read.
  var size: UInt64 {
    if compression == .none { return storedSize }
    guard case .success(let bytes) = expanded else { return 0 }
    return UInt64(bytes.count)
  }

  /// `count` bytes at an offset; nil unless the section has all of them.
  func bytes(at start: UInt64, count: Int) -> [UInt8]? {
    guard count >= 0, start <= size, UInt64(count) <= size &- start else { return nil }
    if compression != .none {
      guard case .success(let bytes) = expanded, let start = Int(exactly: start) else { return nil }
      return Array(bytes[start..<start + count])
    }
    let (place, overflow) = offset.addingReportingOverflow(start)
    return overflow ? nil : image.elf.file.bytes(at: place, count: count)
  }

  /// A little-endian number of one to eight bytes; nil outside the section.
  func integer(at start: UInt64, width: Int) -> UInt64? {
    guard width > 0, width <= 8 else { return nil }
    var first = start < windowStart ? .max : Int(clamping: start &- windowStart)
    if first > window.count || window.count - first < width {
      guard let bytes = prefix(at: start, count: Self.windowSize), bytes.count >= width else {
        return nil
      }
      window = bytes
      windowStart = start
      first = 0
    }
    var value: UInt64 = 0
    for index in 0..<width { value |= UInt64(window[first + index]) << UInt64(8 * index) }
    return value
  }

  /// At most `count` bytes from an offset on, fewer at the section's end; nil outside it.
  func prefix(at start: UInt64, count: Int) -> [UInt8]? {
    guard start < size else { return nil }
    return bytes(at: start, count: Int(clamping: min(UInt64(count), size &- start)))
  }

  /// The text at an offset; nil if it has no end within 64 KiB.
  func text(at start: UInt64) -> String? {
    var count = 256
    while count <= 1 << 16, let bytes = prefix(at: start, count: count) {
      if let end = bytes.firstIndex(of: 0) {
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      guard bytes.count == count else { return nil }
      count *= 16
    }
    return nil
  }

  private func expand() -> Result<[UInt8], Obstacle> {
    guard storedSize <= UInt64(Self.maximumExpandedSize) else { return .failure(.tooLarge) }
    guard let bytes = image.elf.file.bytes(at: offset, count: Int(clamping: storedSize)) else {
      return .failure(.damaged)
    }
    var start = 24
    var size: UInt64?
    if compression == .zdebug {
      start = 12
      guard bytes.starts(with: Array("ZLIB".utf8)) else { return .failure(.unknownCompression) }
      size = bytes.integer(at: 4, as: UInt64.self)?.byteSwapped
    } else {
      switch bytes.integer(at: 0, as: UInt32.self) {
      case 1: size = bytes.integer(at: 8, as: UInt64.self)
      case 2: return .failure(.zstandard)
      case nil: return .failure(.damaged)
      default: return .failure(.unknownCompression)
      }
    }
    guard let size else { return .failure(.damaged) }
    guard size <= UInt64(Self.maximumExpandedSize) else { return .failure(.tooLarge) }
    // Deflate cannot make more than 1,032 bytes of one: a larger claim is not worth the memory.
    guard size / 1032 <= storedSize,
      let contents = Inflate.expand(bytes, from: start, size: Int(clamping: size))
    else { return .failure(.damaged) }
    return .success(contents)
  }
}
