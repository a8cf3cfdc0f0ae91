internal import IntermediateDump

/// What the kernel and the dynamic linker put into a process's memory.
extension SyntheticCore {
  /// Puts arguments and an environment at the top of the stack, as the kernel does for a new program.
  ///
  /// Source: Linux fs/binfmt_elf.c, create_elf_tables().
  ///
  /// - Returns: the address of the argument count.
  package mutating func addInitialStack(arguments: [String], environment: [String]) -> UInt64 {
    let end = Self.stack + UInt64(segments[2].bytes.count)
    var strings: [UInt8] = []
    var offsets: [UInt64] = []
    for text in arguments + environment + [executedFile ?? "/opt/victim"] {
      offsets.append(UInt64(strings.count))
      strings += Array(text.utf8) + [0]
    }
    let first = (end - 8 - UInt64(strings.count)) & ~15
    let random = first - 16
    auxiliaryVector.insert(contentsOf: [25, random], at: auxiliaryVector.count - 2)
    if executedFile != nil, let offset = offsets.last {
      auxiliaryVector.insert(contentsOf: [31, first + offset], at: auxiliaryVector.count - 2)
    }
    let places = offsets.dropLast().map { first + $0 }
    let words =
      [UInt64(arguments.count)] + places.prefix(arguments.count) + [0]
      + places.dropFirst(arguments.count) + [0] + auxiliaryVector
    let start = random - UInt64(words.count * 8)
    var bytes: [UInt8] = []
    for word in words { bytes.append(littleEndian: word) }
    bytes += [UInt8](repeating: 0xA7, count: 16) + strings
    bytes += [UInt8](repeating: 0, count: Int(end - start) - bytes.count)
    segments[2].bytes.replaceSubrange(Int(start - Self.stack)..., with: bytes)
    return start
  }

  /// A core file without NT_FILE of a program with one library, and with the dynamic linker's list.
  ///
  /// Source: glibc `<link.h>`, struct r_debug and struct link_map.
  package static var linked: SyntheticCore {
    let library: UInt64 = 0x7F00_0000_0000
    func image(isProgram: Bool) -> [UInt8] {
      var bytes = Self.image
      bytes[56] = isProgram ? 5 : 4
      // The fourth header is that of the dynamic section, and the fifth that of the interpreter's name.
      let headers =
        segment(type: 2, flags: 6, offset: 0x1000, address: 0x1000, fileSize: 32, memorySize: 32)
        + segment(type: 3, flags: 4, offset: 0x300, address: 0x300, fileSize: 8, memorySize: 8)
      bytes.replaceSubrange(232..<344, with: headers)
      return bytes
    }
    var data = [UInt8](repeating: 0, count: 0x1000)
    func put(_ words: [UInt64], at offset: Int) {
      var bytes: [UInt8] = []
      for word in words { bytes.append(littleEndian: word) }
      data.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
    let place = executable + 0x1000
    // DT_DEBUG; struct r_debug; two entries of struct link_map; their names.
    put([21, place + 0x100, 0, 0], at: 0)
    put([1, place + 0x200], at: 0x100)
    put([executable, place + 0x300, place, place + 0x240], at: 0x200)
    put([library, place + 0x308, library + 0x1000, 0], at: 0x240)
    data.replaceSubrange(0x308..<0x308 + 11, with: "/opt/lib.so".utf8)
    var core = SyntheticCore()
    core.files = []
    core.segments[0].bytes = image(isProgram: true)
    core.segments[1].bytes = data
    core.segments += [
      Segment(address: library, flags: 4, bytes: image(isProgram: false), memorySize: 0x1000),
      Segment(
        address: library + 0x1000, flags: 5, bytes: [UInt8](repeating: 0, count: 0x1000)),
    ]
    return core
  }
}
