internal import IntermediateDump
internal import ProcessSnapshot

/// Reads the sizes and the first bytes of standard collections, strings and `Data` from their storage objects.
struct ContentReader {
  let reader: ProcessReader

  /// The maximum number of bytes of a string; a longer string is cut.
  private static let textLimit: UInt64 = 48
  /// The maximum number of bytes that are shown of contents other than strings.
  private static let byteLimit: UInt64 = 16
  /// A number of elements or bytes from this value on is not plausible, and counts as unknown.
  private static let sizeLimit: UInt64 = 1 << 40

  /// Adds to an object the size of its contents, and their first bytes or elements.
  ///
  /// Source: swift stdlib/public/core/StringStorage.swift, ContiguousArrayBuffer.swift, HashTable.swift;
  /// swift-foundation Sources/FoundationEssentials/Data/Data.swift, `__DataStorage`.
  func addContents(of address: Address, to object: inout SwiftObject) {
    guard let name = object.type?.qualified else { return }
    if name == "Swift.__StringStorage" {
      guard let word = reader.word(address &+ 24) else { return }
      let size = word & 0xFFFF_FFFF_FFFF
      object.size = size
      if size > 0,
        let bytes = reader.bytes(address &+ 32, count: Int(clamping: min(size, Self.textLimit)))
      {
        object.text = String(decoding: bytes, as: UTF8.self) + (size > Self.textLimit ? "..." : "")
      }
    } else if Self.data.contains(name) {
      object.size = size(at: address &+ 24)
      if let start = reader.word(address &+ 16), start > 0, let size = object.size {
        object.firstBytes = bytes(Address(start), count: size)
      }
    } else if Self.storages.contains(where: name.hasPrefix) {
      guard let size = size(at: address &+ 16) else { return }
      object.size = size
      guard name.hasPrefix(Self.storages[0]) else {
        object.elements = ElementReader(reader: reader).hashedElements(
          ofStorage: name, at: address, count: size)
        return
      }
      let element = String(name.dropFirst(Self.storages[0].count).dropLast())
      if let width = Self.widths[element] {
        object.firstBytes = bytes(address &+ 32, count: size &* width)
      }
      object.elements = ElementReader(reader: reader).arrayElements(
        ofType: element, at: address &+ 32, count: size)
    }
  }

  private func size(at place: Address) -> UInt64? {
    reader.word(place).flatMap { $0 < Self.sizeLimit ? $0 : nil }
  }

  private func bytes(_ place: Address, count: UInt64) -> [UInt8] {
    let count = Int(clamping: min(count, Self.byteLimit))
    return count > 0 ? reader.bytes(place, count: count).map(Array.init) ?? [] : []
  }

  private static let data: Set = ["Foundation.__DataStorage", "FoundationEssentials.__DataStorage"]

  private static let storages = [
    "Swift._ContiguousArrayStorage<", "Swift._DictionaryStorage<", "Swift._SetStorage<",
  ]

  /// The sizes in bytes of number types; for arrays of these types, the first bytes are shown.
  private static let widths: [String: UInt64] = [
    "Swift.UInt8": 1, "Swift.Int8": 1, "Swift.UInt16": 2, "Swift.Int16": 2, "Swift.UInt32": 4,
    "Swift.Int32": 4, "Swift.Float": 4, "Swift.UInt64": 8, "Swift.Int64": 8, "Swift.UInt": 8,
    "Swift.Int": 8, "Swift.Double": 8,
  ]
}
