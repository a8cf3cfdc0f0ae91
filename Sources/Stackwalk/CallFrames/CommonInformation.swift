/// What the entries of many functions have in common (CIE).
///
/// Source: DWARF 5, 6.4.1; Linux Standard Base Core, 10.6.1.1.1 (augmentations z, R, P, L); GCC's
/// `extract_cie_info` (S); DWARF for the Arm 64-bit Architecture, 4.5 (B); LLVM's `MCDwarf` (G).
struct CommonInformation {
  var codeAlignment: UInt64
  var dataAlignment: Int64
  var returnAddressRegister: UInt64
  var pointerEncoding = PointerEncoding.absolute
  var hasAugmentationData = false
  /// The function is what a signal handler returns to.
  var isSignalFrame = false
  /// The position that index 0 of `instructions` has.
  var origin: UInt64
  var instructions: DWARFCursor

  /// Nil for a version, an augmentation or an address size that is not known.
  init?(_ entry: FrameEntry) {
    guard case .common = entry.kind else { return nil }
    var body = entry.body
    guard let version = body.read(UInt8.self), version == 1 || version == 3 || version == 4,
      let augmentation = body.readCString().map(Array.init)
    else { return nil }
    // GCC 2's: a pointer that nobody needs.
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
        // Its value is of no use here, but its length is.
        let bases = PointerEncoding.Bases(section: origin, data: 0, function: 0)
        guard encoding.isOmitted || data.readPointer(encoding, bases: bases) != nil else {
          return false
        }
      case UInt8(ascii: "S"): isSignalFrame = true
      // Return addresses are signed with the other key; they are stripped in any case.
      case UInt8(ascii: "B"), UInt8(ascii: "G"): break
      default: return false
      }
    }
    return true
  }
}
