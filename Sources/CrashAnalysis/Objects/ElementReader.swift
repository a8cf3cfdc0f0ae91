internal import IntermediateDump
internal import ProcessSnapshot

/// Reads the first elements of arrays of strings, and of sets and dictionaries of numbers, Boolean values and strings.
///
/// Source: swift stdlib/public/core/NativeDictionary.swift, DictionaryStorage.swift, SetStorage.swift, HashTable.swift.
struct ElementReader {
  let reader: ProcessReader

  /// The maximum number of elements that are shown.
  private static let elementLimit = 4
  /// The base-2 logarithm of the largest supported number of buckets.
  ///
  /// Sets and dictionaries with more buckets are not read, so the bitmap of the buckets has at most 512 bytes.
  private static let largestScale: UInt64 = 12

  /// The first elements of an array; empty if the element type is not `String`.
  ///
  /// An element that cannot be read is shown as "_".
  func arrayElements(ofType name: String, at start: Address, count: UInt64) -> [String] {
    guard name == "Swift.String" else { return [] }
    return (0..<min(count, UInt64(Self.elementLimit))).map {
      ElementType.string.text(at: start &+ $0 &* 16, reader) ?? "_"
    }
  }

  /// The first elements of a set or a dictionary, in the order in which the program iterates over them.
  ///
  /// The list is empty if the type of the keys is not supported, if the storage cannot be read or has too many buckets,
  /// or if the storage's fields contradict each other. The fields may contradict each other if the crash interrupted a
  /// change of the collection. A key or a value that cannot be read is shown as "_", and so is a value of an
  /// unsupported type.
  ///
  /// - Parameter name: the name of the storage's type.
  func hashedElements(ofStorage name: String, at object: Address, count: UInt64) -> [String] {
    let isSet = name.hasPrefix("Swift._SetStorage<")
    guard let types = name.split(separator: "<", maxSplits: 1).last?.dropLast(),
      case let parts = types.split(separator: ",", maxSplits: 1).map({
        ElementType.named[String($0.drop { $0 == " " })]
      }), let key = parts.first ?? nil
    else { return [] }
    let value = isSet ? nil : parts.last ?? nil
    guard
      let table = HashedStorage(reader, at: object, isSet: isSet, count: count, key, value)
    else { return [] }
    return table.occupied(limit: Self.elementLimit).map { bucket in
      let first = key.text(at: table.keys &+ bucket &* key.stride, reader) ?? "_"
      guard !isSet else { return first }
      let second = table.values.flatMap { values in
        value.flatMap { $0.text(at: values &+ bucket &* $0.stride, reader) }
      }
      return first + ": " + (second ?? "_")
    }
  }

  /// The storage of a native set or dictionary: a hash table whose buckets hold the keys; for a dictionary, a second
  /// array holds the values.
  private struct HashedStorage {
    let keys: Address
    /// The address of the values; nil for a set, or if the type of the values is not supported.
    let values: Address?
    /// One bit for each bucket, which is set if the bucket holds an element.
    private let bitmap: [UInt64]

    /// Reads the storage of a set or dictionary; nil if a part is not in the dump, if the parts contradict each other,
    /// or if there are too many buckets.
    init?(
      _ reader: ProcessReader, at object: Address, isSet: Bool, count: UInt64, _ key: ElementType,
      _ value: ElementType?
    ) {
      guard let capacity = reader.word(object &+ 24), let scales = reader.word(object &+ 32),
        case let scale = scales & 0xFF, scale <= ElementReader.largestScale,
        let keys = reader.word(object &+ 48)
      else { return nil }
      let buckets: UInt64 = 1 << scale
      // Swift's runtime fills at most three quarters of the buckets, so the stored capacity must be this number.
      guard capacity == (buckets &* 3) >> 2, count <= capacity else { return nil }
      let words = max(1, buckets >> 6)
      let start = object &+ (isSet ? 56 : 64)
      // The bitmap, the keys and the values follow the fields in one allocation.
      self.keys = start &+ 8 &* words
      guard self.keys.value == keys else { return nil }
      if let value {
        values = (self.keys &+ buckets &* key.stride).alignedUp(to: value.alignment)
        guard reader.word(object &+ 56) == values?.value else { return nil }
      } else {
        values = nil
      }
      // If there are fewer than 64 buckets, the bitmap's unused bits are set, so `mask` removes them.
      let mask = buckets < 64 ? (1 << buckets) &- 1 : UInt64.max
      var bitmap: [UInt64] = []
      for index in 0..<words {
        guard let word = reader.word(start &+ 8 &* index) else { return nil }
        bitmap.append(word & mask)
      }
      guard bitmap.reduce(0, { $0 &+ UInt64($1.nonzeroBitCount) }) == count else { return nil }
      self.bitmap = bitmap
    }

    /// The indices of the first `limit` buckets that hold elements.
    func occupied(limit: Int) -> [UInt64] {
      var buckets: [UInt64] = []
      for (index, word) in bitmap.enumerated() {
        var rest = word
        while rest != 0, buckets.count < limit {
          buckets.append(UInt64(index) &* 64 &+ UInt64(rest.trailingZeroBitCount))
          rest &= rest &- 1
        }
      }
      return buckets
    }
  }
}

/// An element type whose values reports can show.
private enum ElementType {
  case bool
  case signed(UInt64)
  case unsigned(UInt64)
  case float
  case double
  case string

  static let named: [String: ElementType] = [
    "Swift.Bool": .bool, "Swift.Int": .signed(8), "Swift.Int8": .signed(1),
    "Swift.Int16": .signed(2), "Swift.Int32": .signed(4), "Swift.Int64": .signed(8),
    "Swift.UInt": .unsigned(8), "Swift.UInt8": .unsigned(1), "Swift.UInt16": .unsigned(2),
    "Swift.UInt32": .unsigned(4), "Swift.UInt64": .unsigned(8), "Swift.Float": .float,
    "Swift.Double": .double, "Swift.String": .string,
  ]

  /// The number of bytes from one element to the next.
  var stride: UInt64 {
    switch self {
    case .bool: 1
    case .signed(let width), .unsigned(let width): width
    case .float: 4
    case .double: 8
    case .string: 16
    }
  }

  var alignment: UInt64 { min(stride, 8) }

  /// The value at an address, as Swift prints it; nil if its bytes are not in the dump, or if it is a string that
  /// cannot be read.
  func text(at place: Address, _ reader: ProcessReader) -> String? {
    if case .string = self { return StringValue(reader, at: place)?.text }
    guard
      let bits = reader.bytes(place, count: Int(clamping: stride))?
        .littleEndian(at: 0, width: Int(clamping: stride))
    else { return nil }
    switch self {
    case .bool: return bits & 1 == 1 ? "true" : "false"
    case .signed(let width):
      let unused: UInt64 = 64 &- 8 &* width
      return "\(Int64(bitPattern: bits << unused) >> Int64(truncatingIfNeeded: unused))"
    case .unsigned: return "\(bits)"
    case .float: return "\(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))"
    case .double: return "\(Double(bitPattern: bits))"
    case .string: return nil
    }
  }
}

/// The text of a `String`, read from the two words of the string.
///
/// Source: swift stdlib/public/core/StringObject.swift.
private struct StringValue {
  /// The first bytes of the string in quotation marks, followed by `...` if the string is longer.
  let text: String

  /// The maximum number of bytes of the string that are shown.
  private static let limit: UInt64 = 24
  /// The offset of a native string's text from the address in the string's second word.
  private static let nativeBias: UInt64 = 32

  /// Reads a string; nil if the text is not in the dump, or if the string is neither a small string, a literal nor a
  /// native string.
  init?(_ reader: ProcessReader, at place: Address) {
    guard let first = reader.word(place), let second = reader.word(place &+ 8) else { return nil }
    let count: UInt64
    let bytes: [UInt8]
    switch second >> 60 {
    case 0xA, 0xE:
      // The two words of a small string contain up to 15 bytes of text.
      count = second >> 56 & 0xF
      var all: [UInt8] = []
      all.append(littleEndian: first)
      all.append(littleEndian: second)
      guard all[Int(truncatingIfNeeded: count)..<15].allSatisfy({ $0 == 0 }) else { return nil }
      bytes = Array(all[..<Int(truncatingIfNeeded: count)])
    case 0, 8:
      // Bit 60 of the first word means that the text is at a fixed offset from the address in the second word. Other
      // strings are not read.
      count = first & 0xFFFF_FFFF_FFFF
      guard first >> 60 & 1 == 1, count > 0, count < 1 << 40 else { return nil }
      let start = Address(second & 0x0FFF_FFFF_FFFF_FFFF) &+ Self.nativeBias
      let size = Int(clamping: min(count, Self.limit))
      guard
        let found = second >> 60 == 8
          ? reader.constants(start, count: size) : reader.bytes(start, count: size)
      else { return nil }
      bytes = Array(found)
    default: return nil
    }
    guard let text = Self.text(bytes[...], isCut: count > Self.limit) else { return nil }
    self.text = "\"\(text)\"" + (count > Self.limit ? "..." : "")
  }

  /// The text of UTF-8 bytes; nil if they are not UTF-8.
  ///
  /// - Parameter isCut: true if the text was cut after these bytes, so that the last character may be incomplete.
  private static func text(_ bytes: ArraySlice<UInt8>, isCut: Bool) -> String? {
    var bytes = bytes
    if isCut {
      // A character takes at most four bytes, so removing at most four bytes removes an incomplete one.
      for _ in 0..<4 where String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
