internal import IntermediateDump
internal import ProcessSnapshot

/// A location in the file: MINIDUMP_LOCATION_DESCRIPTOR.
struct MinidumpLocation {
  var size: UInt32
  var rva: UInt32

  static let none = MinidumpLocation(size: 0, rva: 0)
}

/// All bytes of a minidump except the captured memory, which `MinidumpWriter` writes to the file after these bytes.
struct MinidumpBuffer {
  private(set) var bytes: [UInt8] = []
  /// The positions of the fields that must hold the file offset of captured memory, each with the offset of that memory
  /// from the start of all captured memory.
  ///
  /// These fields are filled in last, because the position of captured memory in the file is not known until then.
  private var memoryReferences: [(position: Int, offset: UInt64)] = []

  var count: Int { bytes.count }
  /// The file offset of the next byte, which minidumps call an RVA.
  var rva: UInt32 { UInt32(truncatingIfNeeded: bytes.count) }

  mutating func append(_ value: some FixedWidthInteger) { bytes.append(littleEndian: value) }

  mutating func append(_ address: Address) { append(address.value) }

  mutating func append(_ contents: [UInt8]) { bytes += contents }

  mutating func append(_ location: MinidumpLocation) {
    append(location.size)
    append(location.rva)
  }

  mutating func appendZeros(_ count: Int) {
    bytes += repeatElement(0, count: max(count, 0))
  }

  /// Appends a field for the file offset of one byte of captured memory.
  ///
  /// This byte is `offset` bytes after the start of the captured memory.
  mutating func appendMemoryReference(_ offset: UInt64) {
    memoryReferences.append((bytes.count, offset))
    append(UInt32(0))
  }

  mutating func align(to alignment: Int) {
    appendZeros((alignment - bytes.count % alignment) % alignment)
  }

  /// Overwrites four bytes that were appended before.
  mutating func patch(_ value: UInt32, at position: Int) {
    for index in 0..<4 {
      bytes[position + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
    }
  }

  /// The location of the bytes from `start` to the end of the buffer.
  func location(from start: UInt32) -> MinidumpLocation {
    MinidumpLocation(size: rva &- start, rva: start)
  }

  /// Appends a whole stream and returns its location.
  mutating func appendStream(_ contents: [UInt8]) -> MinidumpLocation {
    align(to: 4)
    let start = rva
    append(contents)
    return location(from: start)
  }

  /// Appends a 32-bit count and the entries, and returns their location.
  mutating func appendList<Element>(
    _ elements: [Element], entry: (inout MinidumpBuffer, Element) -> Void
  ) -> MinidumpLocation {
    align(to: 4)
    let start = rva
    append(UInt32(truncatingIfNeeded: elements.count))
    for element in elements { entry(&self, element) }
    return location(from: start)
  }

  /// Appends a MINIDUMP_STRING: the number of bytes without the terminator, the text in UTF-16, and the terminator.
  mutating func appendString(_ text: String) -> UInt32 {
    align(to: 4)
    let start = rva
    let units = Array(text.utf16)
    append(UInt32(truncatingIfNeeded: units.count * 2))
    for unit in units { append(unit) }
    append(UInt16(0))
    return start
  }

  /// Appends Crashpad's MinidumpUTF8String: the number of bytes without the terminator, the text, and the terminator.
  mutating func appendUTF8String(_ text: String) -> UInt32 {
    let start = appendByteArray(Array(text.utf8))
    append(UInt8(0))
    return start
  }

  /// Appends Crashpad's MinidumpByteArray: the number of bytes, then the bytes.
  mutating func appendByteArray(_ contents: [UInt8]) -> UInt32 {
    align(to: 4)
    let start = rva
    append(UInt32(truncatingIfNeeded: contents.count))
    append(contents)
    return start
  }

  /// Appends a text as UTF-16 in a field of fixed size, and cuts it so that a terminator fits.
  mutating func appendFixedString(_ text: String, units count: Int) {
    var units = Array(text.utf16.prefix(count - 1))
    // Half of a surrogate pair is not a valid character, so it is removed.
    if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
    for unit in units { append(unit) }
    appendZeros((count - units.count) * 2)
  }

  /// Fills in the fields that hold file offsets of captured memory.
  ///
  /// - Returns: false if an offset does not fit in 32 bits.
  mutating func resolveMemoryReferences(base: UInt64) -> Bool {
    for (position, offset) in memoryReferences {
      guard let rva = UInt32(exactly: base &+ offset) else { return false }
      patch(rva, at: position)
    }
    return true
  }
}
