import ProcessSnapshot

@testable import Stackwalk

/// A frame section written by hand.
struct FrameBytes: FrameSource {
  /// Where `.eh_frame` is loaded; positions of `.debug_frame` start at 0.
  static let address: UInt64 = 0x5000

  var section: FrameSection = .exceptionFrame
  var address = FrameBytes.address
  var bytes: [UInt8] = []

  private var base: UInt64 { section == .exceptionFrame ? address : 0 }

  func frameBytes(of section: FrameSection, at position: UInt64, count: Int) -> [UInt8]? {
    guard section == self.section, position >= base, position - base <= UInt64(bytes.count),
      count >= 0, count <= bytes.count - Int(position - base)
    else { return nil }
    return Array(bytes[Int(position - base)..<Int(position - base) + count])
  }

  static func little(_ value: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// Version 1, "zR" with pcrel|sdata4, code alignment 1, data alignment -8, return address in 16;
  /// then what every x86_64 function starts with: CFA = rsp + 8, rip at CFA - 8.
  static let usualCommon: [UInt8] = [
    1, 0x7A, 0x52, 0, 1, 0x78, 16, 1, 0x1B, 0x0C, 7, 8, 0x90, 1,
  ]

  /// Appends common information and returns its offset.
  @discardableResult
  mutating func common(_ body: [UInt8] = usualCommon) -> UInt64 {
    let offset = UInt64(bytes.count)
    let identifier: UInt64 = section == .exceptionFrame ? 0 : 0xFFFF_FFFF
    bytes += Self.little(UInt64(4 + body.count), 4) + Self.little(identifier, 4) + body
    return offset
  }

  /// Appends a function's entry: its range in the section's usual encoding, then the instructions.
  mutating func description(
    _ range: Range<UInt64>, common: UInt64 = 0, instructions: [UInt8]
  ) {
    switch section {
    case .exceptionFrame:
      let identifier = UInt64(bytes.count + 4)
      let place = address + identifier + 4
      let body =
        Self.little(range.lowerBound &- place, 4) + Self.little(UInt64(range.count), 4) + [0]
        + instructions
      bytes += Self.little(UInt64(4 + body.count), 4) + Self.little(identifier - common, 4) + body
    case .debugFrame:
      let body =
        Self.little(range.lowerBound, 8) + Self.little(UInt64(range.count), 8) + instructions
      bytes += Self.little(UInt64(4 + body.count), 4) + Self.little(common, 4) + body
    }
  }

  /// `.eh_frame_hdr` with a table: version 1; pcrel|sdata4, udata4, datarel|sdata4.
  static func header(
    _ entries: [(start: UInt64, position: UInt64)], at header: UInt64, section: UInt64
  ) -> [UInt8] {
    let table = entries.flatMap { entry in
      little(entry.start &- header, 4) + little(entry.position &- header, 4)
    }
    return [1, 0x1B, 0x03, 0x3B] + little(section &- (header + 4), 4)
      + little(UInt64(entries.count), 4) + table
  }

  /// A table that is made by reading through the section.
  var table: CallFrameTable {
    var places = CallFrameTable.Places()
    let range = base..<base + UInt64(bytes.count)
    switch section {
    case .exceptionFrame:
      places.exceptionFrame = AddressRange(
        from: Address(range.lowerBound), to: Address(range.upperBound))
    case .debugFrame:
      places.debugFrame = AddressRange(
        from: Address(range.lowerBound), to: Address(range.upperBound))
    }
    return CallFrameTable(places, from: self)
  }
}
