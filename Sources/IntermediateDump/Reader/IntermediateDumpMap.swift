/// One map of a parsed dump, with its entries in file order.
///
/// No getter keeps its value: each call reads the value from the file's bytes.
///
/// Getters never trap. If the key is missing or its value has another form, a getter returns nil or an empty array.
public struct IntermediateDumpMap: Sendable {
  /// The value of a key in a map.
  public enum Value: Sendable {
    /// A property: the range in the file that holds its payload.
    case property(Range<Int>)
    case map(IntermediateDumpMap)
    /// The maps of an array, each with its key and its offset in the file.
    case array([Entry])
  }

  /// A key, the offset of its token in the file, and its value.
  public struct Entry: Sendable {
    public let key: UInt16
    public let offset: Int
    public let value: Value
  }

  /// The bytes of the whole file, which all maps share without a copy.
  package let bytes: DumpBytes
  /// The entries, in file order.
  ///
  /// A key may occur more than once, for example `process` in the outermost map, or any key in a malicious file. The
  /// getters use the first occurrence.
  public let entries: [Entry]

  private func value(_ key: IntermediateDumpKey) -> Value? {
    entries.first { $0.key == key.rawValue }?.value
  }

  /// The bytes of a property's payload.
  public func data(_ key: IntermediateDumpKey) -> ArraySlice<UInt8>? {
    range(key).flatMap(bytes.slice)
  }

  /// The range of a property's payload in the file.
  package func range(_ key: IntermediateDumpKey) -> Range<Int>? {
    guard case .property(let range)? = value(key) else { return nil }
    return range
  }

  /// Returns a key's value as an unsigned integer; nil unless the value has 1, 2, 4 or 8 bytes, which are
  /// little-endian.
  public func unsigned(_ key: IntermediateDumpKey) -> UInt64? {
    guard let data = data(key), [1, 2, 4, 8].contains(data.count) else { return nil }
    return data.littleEndian(at: 0, width: data.count)
  }

  /// Returns a key's value as a signed integer, sign extended; nil unless the value has 1, 2, 4 or 8 bytes, which are
  /// little-endian.
  public func signed(_ key: IntermediateDumpKey) -> Int64? {
    guard let data = data(key), let value = unsigned(key) else { return nil }
    let unused = 64 - 8 * data.count
    return Int64(bitPattern: value << UInt64(unused)) >> Int64(unused)
  }

  /// Text as UTF-8, cut at the first NUL, with invalid UTF-8 replaced by U+FFFD.
  public func text(_ key: IntermediateDumpKey) -> String? {
    guard let data = data(key) else { return nil }
    return String(decoding: data.prefix { $0 != 0 }, as: UTF8.self)
  }

  public func map(_ key: IntermediateDumpKey) -> IntermediateDumpMap? {
    guard case .map(let map)? = value(key) else { return nil }
    return map
  }

  /// The maps of an array; empty if the key has no array.
  public func array(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    guard case .array(let elements)? = value(key) else { return [] }
    return elements.compactMap {
      guard case .map(let map) = $0.value else { return nil }
      return map
    }
  }
}

extension IntermediateDumpMap {
  /// Joins the entries of several maps in the same file into one map, in the order of the maps; nil if there are no
  /// maps.
  public init?(joining maps: [IntermediateDumpMap]) {
    guard let first = maps.first else { return nil }
    self.init(bytes: first.bytes, entries: maps.flatMap(\.entries))
  }
}
