internal import ProcessSnapshot

/// A section with call frame information (CFI).
enum CFISection {
  /// The section `.eh_frame`; positions are link-time addresses or, in the dump's memory, addresses of the process.
  case ehFrame
  /// The section `.debug_frame`; positions are offsets into the section.
  case debugFrame
}

/// A source of CFI bytes, which is either a module's files or the dump's memory.
protocol CFISource {
  /// Reads `count` bytes at a position of a section; nil if the source does not have all of these bytes.
  func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]?
}

/// One length-prefixed entry of a CFI section: a common information entry (CIE) or a frame description entry (FDE).
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1 (`.eh_frame`).
struct CFIEntry {
  enum Kind {
    case cie
    /// An FDE; the value is the position of its CIE.
    case fde(cie: UInt64)
  }

  /// The maximum length of an entry in bytes; a longer entry is treated as damaged.
  static let maximumSize: UInt64 = 1 << 18
  /// The number of bytes that are read at first, which is enough for most entries.
  private static let usualSize = 128

  let section: CFISection
  let kind: Kind
  /// The bytes of the entry after the length and the CIE pointer.
  let body: DWARFCursor
  /// The position in the section that corresponds to index 0 of `body`.
  let origin: UInt64
  /// The position, in the section, of the entry after this one.
  let next: UInt64

  /// Reads the entry at a position; nil for a terminator, a damaged entry, or an entry that the source does not have.
  init?(
    of section: CFISection, at position: UInt64, limit: UInt64 = .max,
    from source: some CFISource
  ) {
    guard position < limit else { return nil }
    var count = Int(clamping: min(UInt64(Self.usualSize), limit &- position))
    var read = source.cfiBytes(of: section, at: position, count: count)
    // If the section ends earlier, try fewer bytes.
    while read == nil, count > 12 {
      count = max(12, count / 2)
      read = source.cfiBytes(of: section, at: position, count: count)
    }
    guard var bytes = read else { return nil }
    var start = DWARFCursor(bytes)
    guard let (length, offsetSize) = start.readInitialLength(), length > 0,
      length <= Self.maximumSize
    else { return nil }
    let end = start.position + Int(clamping: length)
    guard UInt64(end) <= limit &- position else { return nil }
    if end > bytes.count {
      guard let whole = source.cfiBytes(of: section, at: position, count: end) else { return nil }
      bytes = whole
    }
    var body = DWARFCursor(bytes, in: start.position..<end)
    let pointerPosition = position &+ UInt64(start.position)
    switch section {
    case .ehFrame:
      // In `.eh_frame`, the CIE pointer has four bytes even after a 64-bit length. Its value is the distance back
      // from the pointer's own position.
      guard let back = body.read(UInt32.self) else { return nil }
      kind = back == 0 ? .cie : .fde(cie: pointerPosition &- UInt64(back))
    case .debugFrame:
      guard let offset = body.readUnsigned(width: offsetSize) else { return nil }
      let isCIE = offset == (offsetSize == 8 ? UInt64.max : UInt64(UInt32.max))
      kind = isCIE ? .cie : .fde(cie: offset)
    }
    self.section = section
    self.body = body
    origin = position
    next = position &+ UInt64(end)
  }
}

/// A common information entry (CIE), which has the information that many FDEs share.
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1.1.1 (augmentations z, R, P, L).
/// Source: GCC's `extract_cie_info` (S); DWARF for the Arm 64-bit Architecture, 4.5 (B); LLVM's `MCDwarf` (G).
struct CIE {
  var codeAlignment: UInt64
  var dataAlignment: Int64
  var returnAddressRegister: UInt64
  var pointerEncoding = PointerEncoding.absolute
  var hasAugmentationData = false
  /// True if the CIE describes the code to which a signal handler returns.
  var isSignalFrame = false
  /// The position in the section that corresponds to index 0 of `instructions`.
  var origin: UInt64
  var instructions: DWARFCursor

  /// Reads a CIE; nil for an FDE, a damaged CIE, or an unknown version, augmentation or address size.
  init?(_ entry: CFIEntry) {
    guard case .cie = entry.kind else { return nil }
    var body = entry.body
    guard let version = body.read(UInt8.self), version == 1 || version == 3 || version == 4,
      let augmentation = body.readCString().map(Array.init)
    else { return nil }
    // Skip the exception table pointer that GCC 2 wrote.
    if augmentation.starts(with: Array("eh".utf8)) {
      guard body.skip(8) else { return nil }
    }
    if version == 4 {
      guard body.read(UInt8.self) == 8, body.read(UInt8.self) == 0 else { return nil }
    }
    guard let codeAlignment = body.readULEB(), let dataAlignment = body.readSLEB(),
      let register = version == 1 ? body.read(UInt8.self).map(UInt64.init) : body.readULEB()
    else { return nil }
    self.codeAlignment = codeAlignment
    self.dataAlignment = dataAlignment
    returnAddressRegister = register
    origin = entry.origin
    instructions = body
    if augmentation.first == UInt8(ascii: "z") {
      guard let size = body.readULEB(), let data = body.readPiece(count: size) else { return nil }
      hasAugmentationData = true
      instructions = body
      guard readAugmentation(augmentation.dropFirst(), data) else { return nil }
    } else {
      guard augmentation.isEmpty || augmentation == Array("eh".utf8) else { return nil }
    }
  }

  private mutating func readAugmentation(_ letters: ArraySlice<UInt8>, _ data: DWARFCursor) -> Bool
  {
    var data = data
    for letter in letters {
      switch letter {
      case UInt8(ascii: "R"):
        guard let value = data.read(UInt8.self) else { return false }
        pointerEncoding = PointerEncoding(rawValue: value)
      case UInt8(ascii: "L"):
        guard data.read(UInt8.self) != nil else { return false }
      case UInt8(ascii: "P"):
        guard let value = data.read(UInt8.self) else { return false }
        let encoding = PointerEncoding(rawValue: value)
        // Skip the personality routine's address, which the unwinder does not need.
        guard
          encoding.isOmitted
            || data.readPointer(encoding, section: origin, data: 0, function: 0) != nil
        else { return false }
      case UInt8(ascii: "S"): isSignalFrame = true
      // Ignore the key for signed return addresses (B), because the walker always removes the signatures, and the
      // mark for tagged stack memory (G).
      case UInt8(ascii: "B"), UInt8(ascii: "G"): break
      default: return false
      }
    }
    return true
  }
}

/// A frame description entry (FDE), which has the CFI of one function.
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1.2.
struct FDE {
  /// The addresses that the FDE describes; see `CFITable` for the kind of address.
  let range: AddressRange
  let cie: CIE
  let instructions: DWARFCursor
  /// The position in the section that corresponds to index 0 of `instructions`.
  let origin: UInt64

  /// The number of steps that are counted for running the FDE's instructions.
  var cost: Int { 16 + (instructions.remaining + cie.instructions.remaining) / 2 }

  /// Reads an FDE; nil for a CIE or a damaged FDE.
  init?(_ entry: CFIEntry, cie: CIE) {
    guard case .fde = entry.kind,
      let (range, body) = Self.range(entry, encoding: cie.pointerEncoding)
    else { return nil }
    var instructions = body
    if cie.hasAugmentationData {
      guard let size = instructions.readULEB(), instructions.skip(size) else { return nil }
    }
    self.range = range
    self.cie = cie
    self.instructions = instructions
    origin = entry.origin
  }

  /// Reads the range of addresses that an FDE describes; returns it with a cursor over the rest of the FDE.
  static func range(
    _ entry: CFIEntry, encoding: PointerEncoding
  ) -> (range: AddressRange, body: DWARFCursor)? {
    var body = entry.body
    guard !encoding.isIndirect, let start = body.readPointer(encoding, section: entry.origin),
      let length = body.readPointerValue(encoding)
    else { return nil }
    let range = AddressRange(start: Address(start), byteCount: length)
    return range.byteCount == length ? (range, body) : nil
  }
}

/// The encoding of a pointer in `.eh_frame` and `.eh_frame_hdr`.
///
/// Source: Linux Standard Base Core, 10.5 (DWARF Exception Header Encoding).
struct PointerEncoding {
  static let omitted: UInt8 = 0xFF
  static let absolute = PointerEncoding(rawValue: 0)

  let rawValue: UInt8

  var isOmitted: Bool { rawValue == Self.omitted }
  /// True if the encoded value is the address at which the pointer is stored.
  var isIndirect: Bool { !isOmitted && rawValue & 0x80 != 0 }

  /// The number of bytes of a pointer; nil for LEB128 and unknown formats.
  var width: Int? {
    switch rawValue & 0x0F {
    case 0x00, 0x04, 0x0C: 8
    case 0x02, 0x0A: 2
    case 0x03, 0x0B: 4
    default: nil
    }
  }
}

extension DWARFCursor {
  /// Reads a pointer; nil for an omitted pointer, an unknown encoding or base, or too few bytes.
  ///
  /// For an indirect pointer, returns the address at which the pointer is stored.
  ///
  /// - Parameters:
  ///   - section: the address of the byte at position 0. `CFITable` says which addresses are link-time addresses.
  ///   - data: the address of `.eh_frame_hdr`, to which pointers with the encoding DW_EH_PE_datarel are relative.
  ///   - function: the start of the function that the FDE describes.
  mutating func readPointer(
    _ encoding: PointerEncoding, section: UInt64, data: UInt64? = nil, function: UInt64? = nil
  ) -> UInt64? {
    guard !encoding.isOmitted else { return nil }
    let place = section &+ UInt64(position)
    // The encoding DW_EH_PE_aligned.
    if encoding.rawValue & 0x70 == 0x50 {
      return skip((0 &- place) % 8) ? read(UInt64.self) : nil
    }
    guard let value = readPointerValue(encoding) else { return nil }
    switch encoding.rawValue & 0x70 {
    case 0x00: return value  // DW_EH_PE_absptr
    case 0x10: return place &+ value  // DW_EH_PE_pcrel
    case 0x30: return data.map { $0 &+ value }  // DW_EH_PE_datarel
    case 0x40: return function.map { $0 &+ value }  // DW_EH_PE_funcrel
    // Only DW_EH_PE_textrel remains, and linkers do not write it on either architecture.
    default: return nil
    }
  }

  /// Reads a value that is stored in the format of a pointer, such as the length of a range.
  mutating func readPointerValue(_ encoding: PointerEncoding) -> UInt64? {
    switch encoding.rawValue & 0x0F {
    case 0x00, 0x04, 0x0C: read(UInt64.self)
    case 0x01: readULEB()
    case 0x02: read(UInt16.self).map { UInt64($0) }
    case 0x03: read(UInt32.self).map { UInt64($0) }
    case 0x09: readSLEB().map { UInt64(bitPattern: $0) }
    case 0x0A: read(Int16.self).map { UInt64(bitPattern: Int64($0)) }
    case 0x0B: read(Int32.self).map { UInt64(bitPattern: Int64($0)) }
    default: nil
    }
  }
}
