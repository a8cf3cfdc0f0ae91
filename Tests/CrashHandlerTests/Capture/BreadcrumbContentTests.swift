import IntermediateDump
import Testing

@testable import CrashHandler

extension BreadcrumbContent {
  /// A breadcrumb with a text only.
  init(text: UnsafeRawBufferPointer) {
    let place = unsafe text.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
    unsafe self.init(
      text: place, textCount: min(text.count, BreadcrumbRing.textCapacity), metadata: place,
      metadataCount: 0, level: 0)
  }
}

/// Text, level and metadata of a breadcrumb share one slot of a ring.
@Suite struct BreadcrumbContentTests {
  private static let size = 1 << 20

  /// Adds a breadcrumb, and reads its slot.
  private func left(
    _ text: String, _ level: BreadcrumbLevel?, _ metadata: [(name: String, value: String)]
  ) -> (text: String, level: UInt8, metadata: BreadcrumbMetadata) {
    let block = ClientBlock(Self.size)
    let ring = block.memory.breadcrumbs
    unsafe ClientText.withBytes(of: text, atMost: BreadcrumbRing.textCapacity) { bytes, count in
      unsafe BreadcrumbContent.with(bytes, count, level: level, metadata: metadata) {
        ring.leave($0, work: 1, uptime: 2, threadID: 3)
      }
    }
    var place = [UInt8](repeating: 0, count: BreadcrumbRing.stride)
    let count = unsafe ring.read(0, into: &place)
    let content = place.dropFirst(BreadcrumbRing.textOffset)
    return (
      String(decoding: content.prefix(count), as: UTF8.self), place[BreadcrumbRing.levelOffset],
      BreadcrumbMetadata(
        content.dropFirst(count).prefix(Int(place[BreadcrumbRing.metadataCountOffset])))
    )
  }

  @Test func allPartsAreKept() {
    let slot = left("GET /", .warning, [("user", "17"), ("path", ""), ("größe", "ü")])
    #expect(slot.text == "GET /")
    #expect(slot.level == BreadcrumbLevel.warning.rawValue)
    #expect(slot.metadata.pairs.map(\.name) == ["user", "path", "größe"])
    #expect(slot.metadata.pairs.map(\.value) == ["17", "", "ü"])
  }

  @Test func aPairWithoutRoomIsLeftOutAndTheNextMayFit() {
    let text = String(repeating: "t", count: 200)
    // 24 bytes are left; "a", "1" and their terminators take four.
    let slot = left(
      text, .info,
      [("a", "1"), ("b", String(repeating: "x", count: 18)), ("c", "\(1234)"), ("d\0", "")])
    #expect(slot.text == text)
    #expect(slot.metadata.pairs.map(\.name) == ["a", "c"])
    let full = left(String(repeating: "t", count: 300), .error, [("a", "")])
    #expect(full.text.utf8.count == 224 && full.metadata.pairs.isEmpty)
    // The slot is full to the last byte.
    let exact = left(String(repeating: "t", count: 220), nil, [("a", "1")])
    #expect(exact.metadata.pairs == [.init(name: "a", value: "1")] && exact.level == 0)
  }
}
