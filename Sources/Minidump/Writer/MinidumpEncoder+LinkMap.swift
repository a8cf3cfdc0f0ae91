internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MDRawDebug64, the bytes of the dynamic section behind it; names and MDRawLinkMap64 entries in
  /// front of it.
  ///
  /// Source: Breakpad `minidump_format.h`; `client/linux/minidump_writer/minidump_writer.cc`,
  /// WriteDSODebugStream.
  mutating func encodeLinkMap(_ map: LinkMap) -> MinidumpLocation {
    let entries = map.entries.prefix(LinkMap.maximumEntries).map { entry in
      (entry: entry, name: buffer.appendString(entry.name))
    }
    buffer.align(to: 8)
    // Breakpad's value for nowhere.
    let entriesRVA = entries.isEmpty ? UInt32.max : buffer.rva
    for (entry, name) in entries {
      buffer.append(entry.address)
      buffer.append(name)
      buffer.appendZeros(4)
      buffer.append(entry.dynamicSection)
    }
    let start = buffer.rva
    buffer.append(map.version)
    buffer.append(entriesRVA)
    buffer.append(UInt32(truncatingIfNeeded: entries.count))
    buffer.appendZeros(4)
    buffer.append(map.breakpoint)
    buffer.append(map.loaderBase)
    buffer.append(map.dynamicSection)
    buffer.append(map.dynamicData)
    return MinidumpLocation(size: buffer.rva &- start, rva: start)
  }
}
