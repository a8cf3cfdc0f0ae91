/// Which of the two sections holds an entry; their layouts differ a little.
enum FrameSection {
  /// `.eh_frame`: positions are addresses of the file's own numbering.
  case exceptionFrame
  /// `.debug_frame`: positions are offsets into the section.
  case debugFrame
}

/// Where the bytes of call frame information come from: a module's file or the dump's memory.
protocol FrameSource {
  /// `count` bytes at a position of a section; nil unless all of them can be had.
  func frameBytes(of section: FrameSection, at position: UInt64, count: Int) -> [UInt8]?
}

/// One length-prefixed entry of a frame section, common information or a function's.
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1 (`.eh_frame`).
struct FrameEntry {
  enum Kind {
    case common
    /// The position of the common information that it builds on.
    case description(common: UInt64)
  }

  /// More than any function's entry has; a length beyond is damage.
  static let maximumSize: UInt64 = 1 << 18
  /// Bytes that are read at first, which are enough for most entries.
  private static let usualSize = 128

  let section: FrameSection
  let kind: Kind
  /// Behind the length and the identifier, up to the end of the entry.
  let body: DWARFCursor
  /// The position that index 0 of `body` has.
  let origin: UInt64
  /// Where the next entry begins.
  let next: UInt64

  /// Reads the entry at a position; nil at a terminator and for one that makes no sense.
  init?(
    of section: FrameSection, at position: UInt64, limit: UInt64 = .max,
    from source: some FrameSource
  ) {
    guard position < limit else { return nil }
    var count = Int(clamping: min(UInt64(Self.usualSize), limit &- position))
    var read = source.frameBytes(of: section, at: position, count: count)
    // The section may end sooner.
    while read == nil, count > 12 {
      count = max(12, count / 2)
      read = source.frameBytes(of: section, at: position, count: count)
    }
    guard var bytes = read else { return nil }
    var start = DWARFCursor(bytes)
    guard let (length, is64Bit) = start.readInitialLength(), length > 0,
      length <= Self.maximumSize
    else { return nil }
    let end = start.position + Int(clamping: length)
    guard UInt64(end) <= limit &- position else { return nil }
    if end > bytes.count {
      guard let whole = source.frameBytes(of: section, at: position, count: end) else { return nil }
      bytes = whole
    }
    var body = DWARFCursor(bytes, in: start.position..<end)
    let identifierPosition = position &+ UInt64(start.position)
    switch section {
    case .exceptionFrame:
      // Four bytes even after a 64-bit length; counts back from where it lies.
      guard let back = body.read(UInt32.self) else { return nil }
      kind = back == 0 ? .common : .description(common: identifierPosition &- UInt64(back))
    case .debugFrame:
      guard let offset = body.readOffset(is64Bit: is64Bit) else { return nil }
      let isCommon = offset == (is64Bit ? UInt64.max : UInt64(UInt32.max))
      kind = isCommon ? .common : .description(common: offset)
    }
    self.section = section
    self.body = body
    origin = position
    next = position &+ UInt64(end)
  }
}
