internal import IntermediateDump

extension IntermediateDumpMap {
  /// Every map written under a key, in file order.
  func maps(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    entries.compactMap { entry in
      guard entry.key == key.rawValue, case .map(let map) = entry.value else { return nil }
      return map
    }
  }

  /// The maps of every array written under a key, in file order.
  func elements(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    entries.flatMap { entry -> [IntermediateDumpMap] in
      guard entry.key == key.rawValue, case .array(let elements) = entry.value else { return [] }
      return elements.compactMap { element in
        guard case .map(let map) = element.value else { return nil }
        return map
      }
    }
  }

  /// An unsigned integer that fits 32 bits; nil where it is missing or larger.
  func unsigned32(_ key: IntermediateDumpKey) -> UInt32? {
    unsigned(key).flatMap { UInt32(exactly: $0) }
  }

  /// A signed integer that fits 32 bits; nil where it is missing or larger.
  func signed32(_ key: IntermediateDumpKey) -> Int32? {
    signed(key).flatMap { Int32(exactly: $0) }
  }

  /// A property's bytes in an array of their own.
  func address(_ key: IntermediateDumpKey) -> Address? { unsigned(key).map { Address($0) } }

  func array(of key: IntermediateDumpKey) -> [UInt8]? {
    data(key).map { Array($0) }
  }

  /// The bytes of a `memoryRegion` map; nil where they could not be read at crash time.
  var region: MemoryRegion? {
    guard let address = address(.regionAddress), let bytes = array(of: .regionData),
      !bytes.isEmpty
    else { return nil }
    return MemoryRegion(address: address, bytes: bytes)
  }
}
