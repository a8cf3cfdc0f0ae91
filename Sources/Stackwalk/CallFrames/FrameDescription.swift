internal import ProcessSnapshot

/// The call frame information of one function (FDE).
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1.2.
struct FrameDescription {
  /// Addresses of the file's own numbering.
  let range: AddressRange
  let common: CommonInformation
  let instructions: DWARFCursor
  /// The position that index 0 of `instructions` has.
  let origin: UInt64

  /// Nil for an entry that is not a function's, or whose range makes no sense.
  init?(_ entry: FrameEntry, common: CommonInformation) {
    guard case .description = entry.kind,
      let (range, body) = Self.range(entry, encoding: common.pointerEncoding)
    else { return nil }
    var instructions = body
    if common.hasAugmentationData {
      guard let size = instructions.readULEB(), instructions.skip(size) else { return nil }
    }
    self.range = range
    self.common = common
    self.instructions = instructions
    origin = entry.origin
  }

  /// The addresses that an entry describes, and what follows them in it.
  static func range(
    _ entry: FrameEntry, encoding: PointerEncoding
  ) -> (range: AddressRange, body: DWARFCursor)? {
    var body = entry.body
    let bases = PointerEncoding.Bases(section: entry.origin, data: nil, function: nil)
    guard !encoding.isIndirect, let start = body.readPointer(encoding, bases: bases),
      let length = body.readPointerValue(encoding)
    else { return nil }
    let range = AddressRange(start: Address(start), byteCount: length)
    return range.byteCount == length ? (range, body) : nil
  }
}
