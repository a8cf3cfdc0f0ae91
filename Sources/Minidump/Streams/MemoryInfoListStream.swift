internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_MEMORY_INFO_LIST, with an entry for each mapping.
  ///
  /// The stream has the same mappings as the LinuxMaps stream, but no paths. Readers that know only Microsoft's streams
  /// need this stream.
  ///
  /// Source: Microsoft minidumpapiset.h, winnt.h.
  mutating func encodeMemoryInfoList() -> MinidumpLocation {
    buffer.align(to: 8)
    let start = buffer.rva
    buffer.append(UInt32(16))
    buffer.append(UInt32(truncatingIfNeeded: MinidumpFormat.memoryInfoSize))
    buffer.append(UInt64(snapshot.mappings.count))
    for mapping in snapshot.mappings {
      let protection = Self.pageProtection(mapping.protection)
      buffer.append(mapping.start)
      buffer.append(mapping.start)
      buffer.append(protection)
      buffer.append(UInt32(0))
      buffer.append(mapping.range.byteCount)
      buffer.append(UInt32(0x1000))  // MEM_COMMIT
      buffer.append(protection)
      buffer.append(mapping.isPrivate ? 0x20000 : 0x40000 as UInt32)  // MEM_PRIVATE, MEM_MAPPED
      buffer.append(UInt32(0))
    }
    return buffer.location(from: start)
  }

  /// The `PAGE_*` constant for a protection; writable memory counts as readable, because no constant means writable
  /// only.
  private static func pageProtection(_ protection: MemoryMapping.Protection) -> UInt32 {
    let isWritable = protection.contains(.write)
    if protection.contains(.execute) {
      if isWritable { return 0x40 }
      return protection.contains(.read) ? 0x20 : 0x10
    }
    if isWritable { return 0x04 }
    return protection.contains(.read) ? 0x02 : 0x01
  }
}

extension MinidumpDecoder {
  /// Reads MINIDUMP_MEMORY_INFO_LIST as mappings without paths, for minidumps without a LinuxMaps stream.
  mutating func decodeMemoryInfoList() -> [MemoryMapping] {
    guard let stream = file.streams[.memoryInfoList], stream.count >= 16,
      let headerSize = file.integer(at: stream.lowerBound, width: 4),
      let entrySize = file.integer(at: stream.lowerBound + 4, width: 4),
      let count = file.integer(at: stream.lowerBound + 8, width: 8),
      headerSize <= UInt64(stream.count), entrySize >= UInt64(MinidumpFormat.memoryInfoSize)
    else { return [] }
    let fitting = (UInt64(stream.count) &- headerSize) / entrySize
    var mappings: [MemoryMapping] = []
    for index in 0..<Int(clamping: min(count, fitting, UInt64(MinidumpFile.maximumEntries))) {
      let entry = stream.lowerBound + Int(clamping: headerSize) + index * Int(clamping: entrySize)
      guard let start = file.integer(at: entry, width: 8),
        let size = file.integer(at: entry + 24, width: 8),
        let state = file.integer(at: entry + 32, width: 4),
        let page = file.integer(at: entry + 36, width: 4),
        let type = file.integer(at: entry + 40, width: 4)
      else { break }
      let range = AddressRange(start: Address(start), byteCount: size)
      // 0x1000 is MEM_COMMIT; other states describe address space without memory.
      guard state == 0x1000, size > 0, range.byteCount == size else { continue }
      mappings.append(
        MemoryMapping(
          range: range, protection: Self.protection(ofPage: page), isPrivate: type != 0x40000))
    }
    return MemoryMapping.inOrder(mappings)
  }

  /// Source: Microsoft winnt.h, PAGE_ constants; bits above the low byte are modifiers such as PAGE_GUARD.
  private static func protection(ofPage page: UInt64) -> MemoryMapping.Protection {
    switch page & 0xFF {
    case 0x02: [.read]
    case 0x04, 0x08: [.read, .write]
    case 0x10: [.execute]
    case 0x20: [.read, .execute]
    case 0x40, 0x80: [.read, .write, .execute]
    default: []
    }
  }
}
