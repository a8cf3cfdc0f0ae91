internal import IntermediateDump
internal import ProcessSnapshot

// Our own stream: the whole snapshot as an intermediate dump, without the bytes of memory.

extension MinidumpEncoder {
  mutating func encodePostmortemDump(_ document: [UInt8]) -> MinidumpLocation {
    buffer.appendStream(document)
  }
}

extension MinidumpDecoder {
  /// The snapshot that one of our minidumps was written from, its memory taken from the memory list.
  ///
  /// - Returns: nil for a minidump of somebody else, and where the stream is damaged, which is noted:
  ///   then the other streams have to do.
  mutating func decodePostmortemDump() -> ProcessSnapshot? {
    guard let document = document(in: .postmortemDump) else { return nil }
    let memory = MemorySnapshot(joining: decodeMemoryList() + decodeMemory64List())
    return ProcessSnapshot(reading: document, memory: memory)
  }

  /// A whole intermediate dump in a stream; nil, and noted, where it is damaged.
  private mutating func document(in type: MinidumpStreamType) -> IntermediateDumpDocument? {
    guard let bytes = file.copy(type) else { return nil }
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      file.note("our own stream is no intermediate dump")
      return nil
    }
    guard let damage = document.damage else { return document }
    file.note("our own stream: \(damage)")
    return nil
  }
}
