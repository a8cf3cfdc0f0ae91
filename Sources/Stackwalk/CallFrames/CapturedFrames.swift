internal import ProcessSnapshot

/// The frame sections of a module as far as the dump's memory holds them, for a module without a
/// file: the vDSO, or one whose file is gone.
struct CapturedFrames: FrameSource {
  private let memory: MemorySnapshot

  init(_ memory: MemorySnapshot) { self.memory = memory }

  /// Positions are addresses of the process; `.debug_frame` is never loaded.
  func frameBytes(of section: FrameSection, at position: UInt64, count: Int) -> [UInt8]? {
    guard section == .exceptionFrame else { return nil }
    return memory.bytes(at: Address(position), count: count).map(Array.init)
  }
}

extension CallFrameTable {
  /// Finds the header through the image's own program headers; nil unless all that it takes was
  /// captured.
  ///
  /// Source: System V ABI, chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`).
  convenience init?(capturedAt address: Address, in memory: MemorySnapshot) {
    guard let start = memory.bytes(at: address, count: 64).map(Array.init),
      start.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]),
      let offset = start.integer(at: 32, as: UInt64.self),
      let count = start.integer(at: 56, as: UInt16.self),
      let table = memory.bytes(at: address &+ offset, count: Int(count) * 56).map(Array.init)
    else { return nil }
    var first: UInt64?
    var header: (address: UInt64, size: UInt64)?
    for entry in stride(from: 0, to: table.count, by: 56) {
      guard let type = table.integer(at: entry, as: UInt32.self),
        let place = table.integer(at: entry + 16, as: UInt64.self),
        let size = table.integer(at: entry + 40, as: UInt64.self)
      else { return nil }
      if type == ELFFile.load, first == nil { first = place & ~0xFFF }
      if type == ELFFile.exceptionFrameHeader { header = (place, size) }
    }
    guard let first, let header else { return nil }
    let place = address &+ header.address &- first
    let range = AddressRange(start: place, byteCount: header.size)
    self.init(Places(header: range), from: CapturedFrames(memory))
    guard !self.header.entries.isEmpty else { return nil }
  }
}
