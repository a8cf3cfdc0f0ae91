import IntermediateDump

/// Writes an intermediate dump token by token, by the numbers of its format, without the product's writer.
struct DumpTokens {
  private(set) var bytes: [UInt8]

  init(architecture: UInt8 = 1) {
    bytes = Array("PMDUMP\r\n".utf8) + [1, 0, architecture, 8, 32, 0, 0, 0]
    bytes += Array("swift-postmortem".utf8)
  }

  mutating func property(_ key: IntermediateDumpKey, _ payload: [UInt8]) {
    bytes += [1] + Self.integer(UInt64(key.rawValue), 2) + Self.integer(UInt64(payload.count), 4)
    bytes += payload
  }

  mutating func unsigned(_ key: IntermediateDumpKey, _ value: UInt64, _ width: Int = 8) {
    property(key, Self.integer(value, width))
  }

  mutating func text(_ key: IntermediateDumpKey, _ text: String) {
    property(key, Array(text.utf8))
  }

  mutating func map(_ key: IntermediateDumpKey, _ body: (inout DumpTokens) -> Void) {
    bytes += [2] + Self.integer(UInt64(key.rawValue), 2)
    body(&self)
    bytes.append(3)
  }

  mutating func array(_ key: IntermediateDumpKey, _ body: (inout DumpTokens) -> Void) {
    bytes += [4] + Self.integer(UInt64(key.rawValue), 2)
    body(&self)
    bytes.append(5)
  }

  mutating func region(_ address: UInt64, _ data: [UInt8]?) {
    map(.memoryRegion) { dump in
      dump.unsigned(.regionAddress, address)
      dump.unsigned(.regionSize, UInt64(data?.count ?? 64))
      if let data { dump.property(.regionData, data) }
    }
  }

  mutating func end() {
    bytes.append(6)
  }

  static func integer(_ value: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
