internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MINIDUMP_THREAD_NAME_LIST, with every thread that has a name.
  ///
  /// Source: Microsoft minidumpapiset.h.
  mutating func encodeThreadNames() -> MinidumpLocation {
    let names = threads.compactMap { thread in
      thread.name.map { (id: thread.id, rva: buffer.appendString($0)) }
    }
    return buffer.appendList(names) { buffer, name in
      buffer.append(name.id)
      // The offset of the name has 64 bits without padding before it, so an entry has 12 bytes.
      buffer.append(UInt64(name.rva))
    }
  }
}

extension MinidumpDecoder {
  /// Reads MINIDUMP_THREAD_NAME_LIST; an empty name counts as no name.
  mutating func decodeThreadNames() {
    var names: [UInt32: String] = [:]
    for entry in file.entries(of: .threadNames, size: MinidumpFormat.threadNameSize) {
      guard let id = file.integer(at: entry, width: 4),
        let rva = file.integer(at: entry + 4, width: 8), rva <= UInt64(file.bytes.count)
      else { continue }
      guard let name = file.string(at: rva) else {
        file.note("a thread's name is damaged")
        continue
      }
      if !name.isEmpty { names[UInt32(truncatingIfNeeded: id)] = name }
    }
    for index in snapshot.threads.indices {
      snapshot.threads[index].name = names[snapshot.threads[index].id]
    }
  }
}
