internal import IntermediateDump

/// An ELF core file of a made-up process.
package struct SyntheticCore {
  package struct Segment {
    package var address: UInt64
    package var flags: UInt32 = 6
    package var bytes: [UInt8] = []
    /// Larger than the bytes in the file if the kernel left memory out.
    package var memorySize: UInt64?

    package init(
      address: UInt64, flags: UInt32 = 6, bytes: [UInt8] = [], memorySize: UInt64? = nil
    ) {
      (self.address, self.flags, self.bytes, self.memorySize) = (address, flags, bytes, memorySize)
    }
  }

  package struct Thread {
    package var id: UInt32
    package var signal: UInt16 = 11
    package var stackPointer: UInt64 = 0x7FFD_0000_1000
    package var instructionPointer: UInt64 = 0x40_1000
    /// The contents of an NT_SIGINFO note after the thread's other notes; nil for none.
    package var signalInformation: [UInt8]?
    /// The values of `orig_rax` and `rax`.
    package var call: (number: UInt64, result: Int64) = (.max, 0)

    package init(id: UInt32, signal: UInt16 = 11, call: (UInt64, Int64) = (.max, 0)) {
      (self.id, self.signal, self.call) = (id, signal, call)
    }
  }

  package struct File {
    package var start: UInt64
    package var end: UInt64
    package var pages: UInt64 = 0
    package var path: String

    package init(start: UInt64, end: UInt64, pages: UInt64 = 0, path: String) {
      (self.start, self.end, self.pages, self.path) = (start, end, pages, path)
    }
  }

  package static let executable: UInt64 = 0x40_0000
  package static let stack: UInt64 = 0x7FFD_0000_0000

  package var isARM64 = false
  package var threads = [Thread(id: 4001), Thread(id: 4002, signal: 0, call: (202, -512))]
  package var segments = [
    Segment(address: 0x40_0000, flags: 4, bytes: SyntheticCore.image, memorySize: 0x1000),
    Segment(address: 0x40_1000, flags: 5, memorySize: 0x1000),
    Segment(address: SyntheticCore.stack, bytes: [UInt8](repeating: 0x5A, count: 0x2000)),
  ]
  package var files = [
    File(start: 0x40_0000, end: 0x40_1000, path: "/opt/victim"),
    File(start: 0x40_1000, end: 0x40_2000, pages: 1, path: "/opt/victim"),
  ]
  /// A siginfo_t of SIGSEGV, SEGV_MAPERR at 0xDEAD000; nil for none.
  package var signalInformation: [UInt8]? = SyntheticCore.segmentationFault
  package var processID: UInt32 = 4001
  /// The auxiliary vector: types and values.
  package var auxiliaryVector: [UInt64] = [
    3, SyntheticCore.executable + 64, 6, 4096, 9, 0x40_1000, 0, 0,
  ]
  /// The command line in NT_PRPSINFO.
  package var command = "/opt/victim --verbose"
  /// The path that AT_EXECFN refers to; nil for no AT_EXECFN.
  package var executedFile: String?
  /// The owner of a note that no core file of a process has; nil for no such note.
  package var foreignNote: String?
  /// True to write the section header with the number of program headers at the end, as the kernel does.
  package var hasSectionHeaderAtEnd = false
  /// True to write the number of program headers as if the ELF header could not count them.
  package var hasExtendedCount = false
  /// True to write the notes in the order of debuggers.
  package var isFromDebugger = false

  package init() {}

  package static var segmentationFault: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 128)
    bytes[0] = 11
    bytes[8] = 1
    bytes.replaceSubrange(16..<20, with: [0x00, 0xD0, 0xEA, 0x0D])
    return bytes
  }

  package static let buildID: [UInt8] = Array(0xB0..<0xC4)

  /// The first page of a program: headers for a segment with constants and one with code, and a build ID.
  package static var image: [UInt8] {
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

  package static func header(
    type: UInt16, machine: UInt16, headers: UInt64, count: Int, isExtended: Bool = false
  ) -> [UInt8] {
    var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    bytes.append(littleEndian: type)
    bytes.append(littleEndian: machine)
    bytes.append(littleEndian: UInt32(1))
    bytes.append(littleEndian: UInt64(0))
    bytes.append(littleEndian: headers)
    // If the count does not fit into 16 bits, the first section has it.
    bytes.append(littleEndian: isExtended ? headers + UInt64(count) * 56 : 0)
    bytes.append(littleEndian: UInt32(0))
    for value: UInt16 in [64, 56, isExtended ? 0xFFFF : UInt16(count), 64, isExtended ? 1 : 0, 0] {
      bytes.append(littleEndian: value)
    }
    return bytes
  }

  package static func segment(
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

  package static func note(_ name: String, _ type: UInt32, _ contents: [UInt8]) -> [UInt8] {
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
  package var bytes: [UInt8] {
    let notes = notes
    let count = segments.count + 1
    let isExtended = hasExtendedCount || count >= 0xFFFF
    let isBefore = isExtended && !hasSectionHeaderAtEnd
    var place = 64 + count * 56 + (isBefore ? 64 : 0)
    var bytes = Self.header(
      type: 4, machine: isARM64 ? 183 : 62, headers: 64, count: count, isExtended: isExtended)
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
