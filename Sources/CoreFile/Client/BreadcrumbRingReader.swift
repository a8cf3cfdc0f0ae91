internal import IntermediateDump
internal import ProcessSnapshot

/// Reads a ring of breadcrumbs in the memory of a program with the crash handler.
///
/// Source: CrashHandler/State/Client/BreadcrumbRing.swift.
struct BreadcrumbRingReader {
  static let stride: UInt64 = 256
  private static let (textOffset, textCapacity) = (32, 224)

  let memory: MemorySnapshot
  let base: Address
  /// The number of slots in the ring; a slot holds one breadcrumb.
  let count: UInt64
  /// The address of the word that contains the number of the next breadcrumb.
  let next: Address

  /// The number of breadcrumbs that the program has left in this ring, including dropped and incomplete ones.
  var left: UInt64 { memory.word(at: next) ?? 0 }

  /// The breadcrumbs in the ring with the numbers of their units of work, oldest first, and the number of slots that
  /// cannot be read.
  var all: (breadcrumbs: [(work: UInt64, content: ClientInformation.Breadcrumb)], omitted: UInt64) {
    let end = left
    var found: [(work: UInt64, content: ClientInformation.Breadcrumb)] = []
    var omitted: UInt64 = 0
    for number in (end > count ? end &- count : 0)..<end {
      guard let slot = memory.bytes(at: base &+ number % count &* Self.stride, count: 256),
        slot.littleEndian(at: 0, as: UInt64.self) == number &* 2 &+ 2,
        let work = slot.littleEndian(at: 8, as: UInt64.self), let content = content(of: slot)
      else {
        omitted += 1
        continue
      }
      found.append((work, content))
    }
    return (found, omitted)
  }

  private func content(of slot: ArraySlice<UInt8>) -> ClientInformation.Breadcrumb? {
    guard let counts = slot.littleEndian(at: 28, width: 4) else { return nil }
    let (textCount, metadataCount) = (Int(counts & 0xFF), Int(counts >> 8 & 0xFF))
    guard textCount + metadataCount <= Self.textCapacity else { return nil }
    let text = slot.dropFirst(Self.textOffset)
    var breadcrumb = ClientInformation.Breadcrumb(
      text: String(decoding: text.prefix(textCount), as: UTF8.self))
    breadcrumb.uptime = slot.littleEndian(at: 16, as: UInt64.self)
    breadcrumb.threadID = slot.littleEndian(at: 24, as: UInt32.self)
    breadcrumb.level = BreadcrumbLevel(rawValue: UInt8(counts >> 24))
    breadcrumb.metadata = BreadcrumbMetadata(text.dropFirst(textCount).prefix(metadataCount))
    return breadcrumb
  }
}

/// Reads the rings of the last breadcrumbs of each unit of work.
///
/// Source: CrashHandler/State/Client/WorkRings.swift.
struct WorkRingReader {
  private static let (ways, ringCount): (UInt64, UInt64) = (8, 16)
  private static let (nexts, rings): (UInt64, UInt64) = (8192, 12288)

  let memory: MemorySnapshot
  let base: Address

  /// The breadcrumbs of a unit of work, from the eight rings that belong to the hash of the unit's number.
  func breadcrumbs(of work: UInt64) -> [ClientInformation.Breadcrumb] {
    let first = (work &* 0x9E37_79B9_7F4A_7C15) >> 58 &* Self.ways
    return (first..<first + Self.ways).flatMap { index in
      let size = Self.ringCount &* BreadcrumbRingReader.stride
      let ring = BreadcrumbRingReader(
        memory: memory, base: base &+ Self.rings &+ index &* size, count: Self.ringCount,
        next: base &+ Self.nexts &+ index &* 8)
      return ring.all.breadcrumbs.filter { $0.work == work }.map(\.content)
    }
  }
}
