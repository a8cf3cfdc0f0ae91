package import IntermediateDump

/// The memory that maps of a dump stand for: their own bytes, or those of a minidump that carries the
/// dump.
package struct DumpMemory {
  /// Nil for a dump that has its memory itself.
  private let memory: MemorySnapshot?
  /// Bytes of it that may still be given away: hostile maps name the same ones again and again.
  private var bytesLeft: Int

  package init(_ memory: MemorySnapshot?) {
    self.memory = memory
    bytesLeft = memory?.regions.reduce(0) { $0 + $1.bytes.count } ?? 0
  }

  /// The bytes of a `memoryRegion` map; nil where there are none.
  package mutating func region(_ map: IntermediateDumpMap) -> MemoryRegion? {
    guard let address: Address = map[.regionAddress] else { return nil }
    if let bytes: [UInt8] = map[.regionData] {
      return bytes.isEmpty ? nil : MemoryRegion(address: address, bytes: bytes)
    }
    guard let whole = memory?.region(containing: address),
      let size = map.unsigned(.regionSize).flatMap({ Int(exactly: $0) }), size > 0,
      size <= bytesLeft, let bytes = memory?.bytes(at: address, count: size)
    else { return nil }
    bytesLeft -= size
    // The same array, where it is all of it.
    return size == whole.bytes.count ? whole : MemoryRegion(address: address, bytes: Array(bytes))
  }
}

extension ThreadSnapshot {
  /// Reads a `thread` or `crashingThread` map.
  ///
  /// - Parameter id: the thread's, which the map may lack.
  init(
    reading map: IntermediateDumpMap, id: UInt32, architecture: ProcessSnapshot.Architecture,
    memory: inout DumpMemory
  ) {
    self.init(id: id)
    Self.mapFields.read(map, into: &self)
    context = CPUContext(
      architecture: architecture, generalRegisters: map.data(.generalRegisters),
      floatingPointState: map.data(.floatingPointState))
    stackPointer = stackPointer ?? context?.stackPointer
    instructionPointer = instructionPointer ?? context?.instructionPointer
    // Written in chunks; touching ones are one piece again. The top of the crashing thread's was
    // written before it was known where the stack begins and ends.
    let pieces = map.elements(.stack).compactMap { memory.region($0) }
    stack =
      MemorySnapshot(
        joining: pieces.compactMap { piece in
          stackRange.map { piece.part(within: $0) } ?? piece
        }
      ).regions
  }

  /// Writes the same map, with places and sizes of the stack's pieces in place of their bytes.
  ///
  /// - Parameter extendedStateLeft: bytes of XSAVE areas that may still be written; where one does not
  ///   fit, its first 512 bytes are.
  func write(
    as key: IntermediateDumpKey, extendedStateLeft: inout Int,
    to writer: inout IntermediateDumpWriter
  ) {
    writer.startMap(key)
    Self.mapFields.write(self, to: &writer)
    writer.write(.generalRegisters, context?.generalRegisterBytes)
    if var area = context?.floatingPointBytes {
      if area.count > extendedStateLeft {
        area = Array(area.prefix(X86_64Context.legacyAreaSize))
      } else {
        extendedStateLeft -= area.count
      }
      writer.write(.floatingPointState, area)
    }
    writer.array(
      .stack, of: .memoryRegion,
      stack.map {
        ClientInformation.ExtraMemoryRange(address: $0.address, size: UInt64($0.bytes.count))
      }, ClientInformation.ExtraMemoryRange.mapFields)
    writer.end()
  }

  /// The name in a `Name:` line of `/proc/<pid>/task/<tid>/status`; nil for an empty one, which
  /// means unnamed.
  ///
  /// The kernel writes a newline as `\n` and a backslash as `\\` there. Source: proc_pid_status(5),
  /// Linux fs/proc/array.c.
  static func name(unescaping text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next(), byte != 0 {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch iterator.next() {
      case UInt8(ascii: "n")?: bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "\\")?: bytes.append(byte)
      case let other?: bytes += [byte, other]
      case nil: bytes.append(byte)
      }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The same line of a name.
  static func escaped(name: String) -> String {
    name.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
  }
}
