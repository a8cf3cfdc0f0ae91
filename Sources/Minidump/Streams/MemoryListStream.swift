internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_MEMORY_LIST: all captured memory, including stacks.
  ///
  /// Source: Microsoft minidumpapiset.h.
  mutating func encodeMemoryList() -> MinidumpLocation {
    buffer.appendList(plan.pieces) { buffer, piece in
      buffer.append(piece.address)
      buffer.append(UInt32(truncatingIfNeeded: piece.count))
      buffer.appendMemoryReference(piece.offset)
    }
  }
}

extension MinidumpDecoder {
  /// Reads MINIDUMP_MEMORY_LIST.
  mutating func decodeMemoryList() -> [MemoryRegion] {
    file.entries(of: .memoryList, size: MinidumpFormat.memoryDescriptorSize)
      .compactMap { region(at: $0, in: "memory list") }
  }

  /// Reads MINIDUMP_MEMORY64_LIST, in which the bytes of all regions follow each other in the file.
  mutating func decodeMemory64List() -> [MemoryRegion] {
    guard let stream = file.streams[.memory64List],
      let count = file.integer(at: stream.lowerBound, width: 8),
      var rva = file.integer(at: stream.lowerBound + 8, width: 8), stream.count >= 16
    else { return [] }
    let fitting = min((stream.count - 16) / 16, MinidumpFile.maximumEntries)
    var regions: [MemoryRegion] = []
    for index in 0..<Int(clamping: min(count, UInt64(fitting))) {
      let entry = stream.lowerBound + 16 + index * 16
      guard let address = file.integer(at: entry, width: 8),
        let size = file.integer(at: entry + 8, width: 8),
        let range = file.range(rva: rva, size: size), let contents = file.take(range)
      else {
        file.note("a region of the 64-bit memory list reaches past the end of the file")
        break
      }
      rva &+= size
      guard Self.fits(range.count, at: Address(address)) else {
        file.note("a region of the 64-bit memory list reaches past the end of the address space")
        continue
      }
      if !range.isEmpty {
        regions.append(MemoryRegion(address: Address(address), contents: contents))
      }
    }
    return regions
  }

  /// Follows a MINIDUMP_MEMORY_DESCRIPTOR; nil if the region is empty, is not inside the file, reaches past the end of
  /// the address space, or if no more bytes may be copied from the file.
  mutating func region(at entry: Int, in list: String) -> MemoryRegion? {
    guard let address = file.integer(at: entry, width: 8), let range = file.location(at: entry + 8),
      Self.fits(range.count, at: Address(address))
    else {
      file.note("a region of the \(list) reaches past the end of the file or of the address space")
      return nil
    }
    guard !range.isEmpty else { return nil }
    guard let contents = file.take(range) else {
      file.note("regions of the \(list) share their bytes")
      return nil
    }
    return MemoryRegion(address: Address(address), contents: contents)
  }

  private static func fits(_ count: Int, at address: Address) -> Bool {
    AddressRange(start: address, byteCount: UInt64(count)).byteCount == UInt64(count)
  }
}
