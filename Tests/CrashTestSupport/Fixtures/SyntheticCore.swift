import IntermediateDump

/// An ELF core file of a made-up process.
struct SyntheticCore {
  struct Segment {
    var address: UInt64
    var flags: UInt32 = 6
    var bytes: [UInt8] = []
    /// Larger than the bytes in the file if the kernel left memory out.
    var memorySize: UInt64?
  }

  struct Thread {
    var id: UInt32
    var signal: UInt16 = 11
    var stackPointer: UInt64 = 0x7FFD_0000_1000
    var instructionPointer: UInt64 = 0x40_1000
    /// The contents of an NT_SIGINFO note after the thread's other notes; nil for none.
    var signalInformation: [UInt8]?
    /// The values of `orig_rax` and `rax`.
    var call: (number: UInt64, result: Int64) = (.max, 0)
  }

  struct File {
    var start: UInt64
    var end: UInt64
    var pages: UInt64 = 0
    var path: String
  }

  static let executable: UInt64 = 0x40_0000
  static let stack: UInt64 = 0x7FFD_0000_0000

  var isARM64 = false
  var threads = [Thread(id: 4001), Thread(id: 4002, signal: 0, call: (202, -512))]
  var segments = [
    Segment(address: 0x40_0000, flags: 4, bytes: SyntheticCore.image, memorySize: 0x1000),
    Segment(address: 0x40_1000, flags: 5, memorySize: 0x1000),
    Segment(address: SyntheticCore.stack, bytes: [UInt8](repeating: 0x5A, count: 0x2000)),
  ]
  var files = [
    File(start: 0x40_0000, end: 0x40_1000, path: "/opt/victim"),
    File(start: 0x40_1000, end: 0x40_2000, pages: 1, path: "/opt/victim"),
  ]
  /// A siginfo_t of SIGSEGV, SEGV_MAPERR at 0xDEAD000; nil for none.
  var signalInformation: [UInt8]? = SyntheticCore.segmentationFault
  var processID: UInt32 = 4001
  /// The auxiliary vector: types and values.
  var auxiliaryVector: [UInt64] = [3, SyntheticCore.executable + 64, 6, 4096, 9, 0x40_1000, 0, 0]
  /// The command line in NT_PRPSINFO.
  var command = "/opt/victim --verbose"
  /// The path that AT_EXECFN refers to; nil for no AT_EXECFN.
  var executedFile: String?
  /// The owner of a note that no core file of a process has; nil for no such note.
  var foreignNote: String?
  /// True to write the section header with the number of program headers at the end, as the kernel does.
  var hasSectionHeaderAtEnd = false
  /// True to write the notes in the order of debuggers.
  var isFromDebugger = false

  static var segmentationFault: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 128)
    bytes[0] = 11
    bytes[8] = 1
    bytes.replaceSubrange(16..<20, with: [0x00, 0xD0, 0xEA, 0x0D])
    return bytes
  }

  static let buildID: [UInt8] = Array(0xB0..<0xC4)

  /// The first page of a program: headers for a segment with constants and one with code, and a build ID.
  static var image: [UInt8] {
    var bytes = header(type: 2, machine: 62, headers: 64, count: 3)
    bytes += segment(type: 1, flags: 4, offset: 0, address: 0, fileSize: 0x1000, memorySize: 0x1000)
    bytes += segment(
      type: 1, flags: 5, offset: 0x1000, address: 0x1000, fileSize: 0x1000, memorySize: 0x1000)
    bytes += segment(
      type: 4, flags: 4, offset: 0x200, address: 0x200, fileSize: 36, memorySize: 36)
    bytes += [UInt8](repeating: 0, count: 0x200 - bytes.count)
    bytes += note("GNU", 3, buildID)
    return bytes + [UInt8](repeating: 0, count: 0x1000 - bytes.count)
  }

  /// Puts arguments and an environment at the top of the stack, as the kernel does for a new program.
  ///
  /// Source: Linux fs/binfmt_elf.c, create_elf_tables().
  ///
  /// - Returns: the address of the argument count.
  mutating func addInitialStack(arguments: [String], environment: [String]) -> UInt64 {
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
  static var linked: SyntheticCore {
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

  static func header(type: UInt16, machine: UInt16, headers: UInt64, count: Int) -> [UInt8] {
    var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    bytes.append(littleEndian: type)
    bytes.append(littleEndian: machine)
    bytes.append(littleEndian: UInt32(1))
    bytes.append(littleEndian: UInt64(0))
    bytes.append(littleEndian: headers)
    // If the count does not fit into 16 bits, the first section has it.
    let isExtended = count >= 0xFFFF
    bytes.append(littleEndian: isExtended ? headers + UInt64(count) * 56 : 0)
    bytes.append(littleEndian: UInt32(0))
    for value: UInt16 in [64, 56, isExtended ? 0xFFFF : UInt16(count), 64, isExtended ? 1 : 0, 0] {
      bytes.append(littleEndian: value)
    }
    return bytes
  }

  static func segment(
    type: UInt32, flags: UInt32, offset: UInt64, address: UInt64, fileSize: UInt64,
    memorySize: UInt64
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: type)
    bytes.append(littleEndian: flags)
    for word in [offset, address, 0, fileSize, memorySize, 0x1000] {
      bytes.append(littleEndian: word)
    }
    return bytes
  }

  static func note(_ name: String, _ type: UInt32, _ contents: [UInt8]) -> [UInt8] {
    func padded(_ bytes: [UInt8]) -> [UInt8] {
      bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
    let name = Array(name.utf8) + [0]
    var bytes: [UInt8] = []
    for word in [UInt32(name.count), UInt32(contents.count), type] {
      bytes.append(littleEndian: word)
    }
    return bytes + padded(name) + padded(contents)
  }

  private func status(of thread: Thread) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 112)
    func put(_ value: UInt64, at offset: Int, width: Int) {
      for index in 0..<width {
        bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
      }
    }
    put(UInt64(thread.signal), at: 12, width: 2)
    put(0x4000, at: 24, width: 8)
    put(UInt64(thread.id), at: 32, width: 4)
    // The user time is 2.5 s, the system time 0.25 s.
    put(2, at: 48, width: 8)
    put(500_000, at: 56, width: 8)
    put(250_000, at: 72, width: 8)
    var words: [UInt64]
    if isARM64 {
      words = (0..<34).map { 0xA000 + UInt64($0) }
      (words[31], words[32]) = (thread.stackPointer, thread.instructionPointer)
    } else {
      words = (0..<27).map { 0xA000 + UInt64($0) }
      (words[10], words[15]) = (UInt64(bitPattern: thread.call.result), thread.call.number)
      (words[16], words[19]) = (thread.instructionPointer, thread.stackPointer)
    }
    for word in words { bytes.append(littleEndian: word) }
    return bytes + [UInt8](repeating: 0, count: 8)
  }

  private var notes: [UInt8] {
    var bytes = isFromDebugger ? processNotes : []
    for (index, thread) in threads.enumerated() {
      bytes += Self.note("CORE", 1, status(of: thread))
      if index == 0, !isFromDebugger { bytes += processNotes }
      var state = [UInt8](repeating: 0, count: isARM64 ? 528 : 512)
      state[0] = 0x7F
      bytes += Self.note("CORE", 2, state)
      if let information = thread.signalInformation {
        bytes += Self.note("CORE", 0x5349_4749, information)
      }
    }
    return bytes + (foreignNote.map { Self.note($0, 0, [1, 2, 3, 4]) } ?? [])
  }

  private var processNotes: [UInt8] {
    var process = [UInt8](repeating: 0, count: 136)
    for (offset, value) in [(24, processID), (28, 77)] as [(Int, UInt32)] {
      for index in 0..<4 {
        process[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
      }
    }
    process.replaceSubrange(40..<46, with: "victim".utf8)
    process.replaceSubrange(56..<56 + command.utf8.count, with: command.utf8)
    var vector: [UInt8] = []
    for word in auxiliaryVector { vector.append(littleEndian: word) }
    var list: [UInt8] = []
    list.append(littleEndian: UInt64(files.count))
    list.append(littleEndian: UInt64(4096))
    for file in files {
      for word in [file.start, file.end, file.pages] { list.append(littleEndian: word) }
    }
    for file in files { list += Array(file.path.utf8) + [0] }
    return Self.note("CORE", 3, process)
      + (signalInformation.map { Self.note("CORE", 0x5349_4749, $0) } ?? [])
      + (vector.isEmpty ? [] : Self.note("CORE", 6, vector))
      + (files.isEmpty ? [] : Self.note("CORE", 0x4649_4C45, list))
  }

  /// The bytes of the file.
  var bytes: [UInt8] {
    let notes = notes
    let count = segments.count + 1
    let isExtended = count >= 0xFFFF
    let isBefore = isExtended && !hasSectionHeaderAtEnd
    var place = 64 + count * 56 + (isBefore ? 64 : 0)
    var bytes = Self.header(
      type: 4, machine: isARM64 ? 183 : 62, headers: 64, count: count)
    bytes += Self.segment(
      type: 4, flags: 0, offset: UInt64(place), address: 0, fileSize: UInt64(notes.count),
      memorySize: 0)
    place += notes.count
    for segment in segments {
      let size = UInt64(segment.bytes.count)
      bytes += Self.segment(
        type: 1, flags: segment.flags, offset: UInt64(place), address: segment.address,
        fileSize: size, memorySize: segment.memorySize ?? size)
      place += segment.bytes.count
    }
    var section = [UInt8](repeating: 0, count: 64)
    for index in 0..<4 { section[44 + index] = UInt8(truncatingIfNeeded: count >> (8 * index)) }
    if isBefore { bytes += section }
    bytes += notes
    for segment in segments { bytes += segment.bytes }
    guard isExtended, !isBefore else { return bytes }
    for index in 0..<8 { bytes[40 + index] = UInt8(truncatingIfNeeded: bytes.count >> (8 * index)) }
    return bytes + section
  }
}
