/// Reads fixed-width integers from a dump, never beyond the dump's end.
struct IntermediateDumpCursor {
  let bytes: DumpBytes
  var offset = 0
  /// Up to 16 KiB of the dump from offset `windowStart` on; all of the dump if it is in memory.
  private var window: ArraySlice<UInt8> = []
  private var windowStart = 0

  init(bytes: DumpBytes) {
    self.bytes = bytes
  }

  var remaining: Int { bytes.count - offset }

  /// Reads the next `width` bytes as a little-endian integer; if fewer bytes are left, reads nothing and returns nil.
  mutating func integer(_ width: Int) -> UInt64? {
    guard width <= remaining else { return nil }
    if offset < windowStart || offset - windowStart > window.count - width { moveWindow() }
    guard let value = window.littleEndian(at: offset - windowStart, width: width) else {
      return nil
    }
    offset += width
    return value
  }

  private mutating func moveWindow() {
    windowStart = bytes.isInMemory ? 0 : offset
    let end = bytes.isInMemory ? bytes.count : min(bytes.count, offset + 1 << 14)
    window = bytes.slice(windowStart..<end) ?? []
  }
}

/// Converts tokens to a tree, and stops at the first invalid token.
///
/// The parser keeps its own stack instead of recursing, so a file with nothing but StartMap tokens cannot overflow
/// the call stack.
struct IntermediateDumpParser {
  private struct OpenContainer {
    let key: UInt16
    let offset: Int
    let isArray: Bool
    // Entries are appended in place. Appending to an enum's payload or to a copy would copy all earlier entries each
    // time.
    var entries: [IntermediateDumpMap.Entry] = []
  }

  private var cursor: IntermediateDumpCursor
  private var open: [OpenContainer] = []
  private(set) var damage: IntermediateDumpDocument.Damage?

  init(cursor: IntermediateDumpCursor) {
    self.cursor = cursor
  }

  /// Parses up to the end mark or the first damage; maps and arrays that are still open are closed and kept.
  mutating func parseRoot() -> IntermediateDumpMap {
    open = [OpenContainer(key: 0, offset: cursor.offset, isArray: false)]
    var tokenCount = 0
    while true {
      let start = cursor.offset
      tokenCount += 1
      if tokenCount > IntermediateDumpFormat.maximumTokenCount {
        damage = .init(offset: start, reason: "more tokens than a dump may have")
        break
      }
      if let reason = parseToken(at: start) {
        damage = .init(offset: start, reason: reason)
        break
      }
      if isFinished { break }
    }
    while open.count > 1 { close() }
    return IntermediateDumpMap(bytes: cursor.bytes, entries: open[0].entries)
  }

  private var isFinished = false

  /// Reads one token; returns nil, or the reason why the token cannot be read.
  private mutating func parseToken(at start: Int) -> String? {
    guard let token = cursor.integer(1), let isArray = open.last?.isArray else {
      return "the file ends without an end mark"
    }
    let isInMap = !isArray
    switch UInt8(truncatingIfNeeded: token) {
    case IntermediateDumpToken.property:
      guard isInMap else { return "a property outside a map" }
      return parseProperty(at: start)
    case IntermediateDumpToken.startMap:
      return parseStart(at: start, isArray: false)
    case IntermediateDumpToken.startArray:
      guard isInMap else { return "an array inside an array" }
      return parseStart(at: start, isArray: true)
    case IntermediateDumpToken.endMap:
      guard isInMap, open.count > 1 else { return "the end of a map that is not open" }
      close()
    case IntermediateDumpToken.endArray:
      guard !isInMap else { return "the end of an array that is not open" }
      close()
    case IntermediateDumpToken.endDocument:
      guard open.count == 1 else { return "an end mark inside a map or array" }
      guard cursor.remaining == 0 else { return "bytes after the end mark" }
      isFinished = true
    default:
      return "an unknown token"
    }
    return nil
  }

  private mutating func parseProperty(at start: Int) -> String? {
    guard let key = cursor.integer(2), let length = cursor.integer(4) else {
      return "a truncated property"
    }
    guard length <= UInt64(IntermediateDumpFormat.maximumPropertySize) else {
      return "a property longer than any may be"
    }
    guard UInt64(cursor.remaining) >= length else { return "a truncated property" }
    let range = cursor.offset..<cursor.offset + Int(clamping: length)
    cursor.offset = range.upperBound
    add(
      .init(
        key: UInt16(truncatingIfNeeded: key), offset: start, value: .property(range)))
    return nil
  }

  private mutating func parseStart(at start: Int, isArray: Bool) -> String? {
    guard let key = cursor.integer(2) else { return "a truncated start of a map or array" }
    guard open.count <= IntermediateDumpFormat.maximumDepth else { return "nesting too deep" }
    open.append(
      OpenContainer(key: UInt16(truncatingIfNeeded: key), offset: start, isArray: isArray))
    return nil
  }

  private mutating func close() {
    guard open.count > 1, let closed = open.popLast() else { return }
    let value: IntermediateDumpMap.Value =
      closed.isArray
      ? .array(closed.entries)
      : .map(IntermediateDumpMap(bytes: cursor.bytes, entries: closed.entries))
    add(.init(key: closed.key, offset: closed.offset, value: value))
  }

  private mutating func add(_ entry: IntermediateDumpMap.Entry) {
    guard let last = open.indices.last else { return }
    open[last].entries.append(entry)
  }
}
