internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes the names and the MDRawLinkMap64 entries, then MDRawDebug64, then the bytes of the dynamic section.
  ///
  /// Source: Breakpad `minidump_format.h`; `client/linux/minidump_writer/minidump_writer.cc`,
  /// WriteDSODebugStream.
  mutating func encodeLinkMap(_ map: LinkMap) -> MinidumpLocation {
    let entries = map.entries.prefix(LinkMap.maximumEntries).map { entry in
      (entry: entry, name: buffer.appendString(entry.name))
    }
    buffer.align(to: 8)
    // If there are no entries, the location is `UInt32.max`, as in Breakpad's minidumps.
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
    return buffer.location(from: start)
  }
}

extension MinidumpDecoder {
  /// Reads MDRawDebug64 in either of its two layouts.
  ///
  /// Breakpad's C++ code pads the structure to 40 bytes; writers in Rust pack it into 36 bytes. The size of the
  /// dynamic section that follows is a multiple of 16 bytes, so the stream's size shows which layout it has.
  mutating func decodeLinkMap() {
    guard let stream = file.streams[.linuxDsoDebug] else { return }
    let isOurs = file.streams[.postmortemDump] != nil
    let isPacked = !isOurs && stream.count % 16 == MinidumpFormat.packedDsoDebugSize % 16
    let size = isPacked ? MinidumpFormat.packedDsoDebugSize : MinidumpFormat.dsoDebugSize
    let addresses = stream.lowerBound + size - 24
    guard stream.count >= size, let version = file.integer(at: stream.lowerBound, width: 4),
      let rva = file.integer(at: stream.lowerBound + 4, width: 4),
      let count = file.integer(at: stream.lowerBound + 8, width: 4),
      let breakpoint = file.integer(at: addresses, width: 8),
      let loaderBase = file.integer(at: addresses + 8, width: 8),
      let dynamicSection = file.integer(at: addresses + 16, width: 8)
    else {
      file.note("the stream of the dynamic linker's list is too short")
      return
    }
    var map = LinkMap()
    map.version = UInt32(truncatingIfNeeded: version)
    map.breakpoint = Address(breakpoint)
    map.loaderBase = Address(loaderBase)
    map.dynamicSection = Address(dynamicSection)
    map.dynamicData = file.copy(stream.lowerBound + size..<stream.upperBound) ?? []
    if count > 0 { map.entries = linkEntries(at: rva, count: count, isPacked: isPacked) }
    snapshot.linkMap = map
  }

  private mutating func linkEntries(
    at rva: UInt64, count: UInt64, isPacked: Bool
  ) -> [LinkMap.Entry] {
    let size = isPacked ? MinidumpFormat.packedLinkMapSize : MinidumpFormat.linkMapSize
    let wanted = min(count, UInt64(LinkMap.maximumEntries))
    let start = Int(clamping: min(rva, UInt64(file.bytes.count)))
    let fitting = UInt64((file.bytes.count - start) / size)
    if wanted > fitting { file.note("the dynamic linker's list reaches past the end of the file") }
    var entries: [LinkMap.Entry] = []
    for index in 0..<Int(clamping: min(wanted, fitting)) {
      let entry = start + index * size
      guard let address = file.integer(at: entry, width: 8),
        let nameRVA = file.integer(at: entry + 8, width: 4),
        let dynamicSection = file.integer(at: entry + size - 8, width: 8)
      else { break }
      let name = file.string(at: nameRVA)
      if name == nil { file.note("a name in the dynamic linker's list is damaged") }
      entries.append(
        LinkMap.Entry(
          address: Address(address), dynamicSection: Address(dynamicSection), name: name ?? ""))
    }
    return entries
  }
}
