import IntermediateDump

/// Writes a table of open contexts in the handler's format, which Docs/Internals/IntermediateDumpFormat.md
/// describes.
public struct OpenContextTable {
  /// An open call of `withContext`.
  public struct Entry {
    var uptime: UInt64
    var work: UInt64
    var isNested: Bool
    var values: [(name: String, value: String)]

    public init(
      at uptime: UInt64, work: UInt64, isNested: Bool = false,
      _ values: [(name: String, value: String)]
    ) {
      (self.uptime, self.work, self.isNested, self.values) = (uptime, work, isNested, values)
    }

    var bytes: [UInt8] {
      let text = values.flatMap { name, value in
        [UInt8(name.utf8.count), UInt8(value.utf8.count)] + Array(name.utf8) + Array(value.utf8)
      }
      let time = uptime | (isNested ? 1 << 63 : 0)
      var words: [UInt64] = [work, UInt64(text.count)]
      words += stride(from: 0, to: text.count, by: 8).map { start in
        text[start..<min(start + 8, text.count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
      func mixed(_ word: UInt64, at offset: Int) -> UInt64 {
        let product = word &* 0x9E37_79B9_7F4A_7C15
        return (product ^ product >> 32) &* (0x9E37_79B9_7F4A_7C15 &+ UInt64(offset))
      }
      var seal = 0x706D_2D63_6F6E_7478 &+ mixed(time, at: 120)
      for (index, word) in words.enumerated() { seal &+= mixed(word, at: 8 * index + 8) }
      var bytes: [UInt8] = []
      for word in [seal] + words { bytes.append(littleEndian: word) }
      bytes += [UInt8](repeating: 0, count: 120 - bytes.count)
      bytes.append(littleEndian: time)
      return bytes
    }
  }

  public var entries: [Entry]
  /// The numbers of calls without an entry: outermost calls, and nested ones.
  public var omitted: (UInt64, UInt64) = (0, 0)

  public init(_ entries: [Entry], omitted: (UInt64, UInt64) = (0, 0)) {
    (self.entries, self.omitted) = (entries, omitted)
  }

  /// The table with one shard, which has at most 63 entries.
  public var bytes: [UInt8] {
    let taken: UInt64 = entries.isEmpty ? 0 : ~0 >> (64 - UInt64(entries.count))
    let words = [1, 0, 0, 0, 0, 0, 0, 0, taken, omitted.0, omitted.1, 0, 0, 0, 0, 0]
    var bytes: [UInt8] = []
    for word in words { bytes.append(littleEndian: word) }
    return bytes + entries.flatMap(\.bytes)
  }
}
