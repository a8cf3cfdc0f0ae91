internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MINIDUMP_MEMORY_INFO_LIST, an entry for each mapping.
  ///
  /// Says what LinuxMaps says, for readers that know Windows' streams only. Source: Microsoft
  /// minidumpapiset.h, winnt.h.
  mutating func encodeMemoryInfoList() -> MinidumpLocation {
    buffer.align(to: 8)
    let start = buffer.count
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
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: buffer.count - start), rva: UInt32(truncatingIfNeeded: start)
    )
  }

  /// The PAGE_ constant; there is none for memory that can be written but not read.
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
