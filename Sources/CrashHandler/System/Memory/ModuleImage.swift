internal import CSignalSafe

/// An ELF image in memory, with its program headers, build ID and segments.
///
/// The bytes of the headers are in scratch memory, and are valid until the next image is read.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@safe
struct ModuleImage {
  /// The address of the program headers.
  let headersAddress: UInt64
  let programHeaders: Bytes
  /// The difference between addresses in memory and addresses in the program headers.
  let bias: UInt64
  /// The start of the page with the lowest loaded address; if the ELF header is loaded, it is on this page.
  private(set) var start: UInt64 = .max
  /// The address after the last byte of the highest loaded segment.
  private(set) var end: UInt64 = 0
  private let notes: UnsafeMutableRawPointer
  private let memory: SafeMemory

  /// The number of bytes of scratch memory that one image needs.
  static var scratchSize: Int { @_noLocks get { 8192 } }
  /// The size of an Elf64_Phdr in bytes; its fields have these offsets: p_type 0, p_flags 4, p_offset 8, p_vaddr 16,
  /// p_filesz 32, p_memsz 40.
  fileprivate static var headerSize: Int { 56 }

  /// A segment, as a program header describes it.
  struct Segment {
    let address: UInt64
    let fileSize: UInt64
    let end: UInt64
    let isCode: Bool
    fileprivate let offset: UInt64
  }

  /// A sequence of the segments of one type.
  @safe
  struct Segments: Sequence, IteratorProtocol {
    private var rest: Bytes
    private let type: UInt32
    private let bias: UInt64

    fileprivate init(_ headers: Bytes, _ type: Int32, bias: UInt64) {
      (rest, self.type, self.bias) = (headers, UInt32(type), bias)
    }

    @_noLocks
    func makeIterator() -> Segments { self }

    @_noLocks
    mutating func next() -> Segment? {
      while rest.count > 0 {
        let header = rest
        rest = rest.dropFirst(ModuleImage.headerSize)
        let (kind, address) = (header.word(0), bias &+ header.word(16))
        if UInt32(truncatingIfNeeded: kind) == type {
          return Segment(
            address: address, fileSize: header.word(32), end: address &+ header.word(40),
            isCode: kind &>> 32 & UInt64(PF_X) != 0, offset: header.word(8))
        }
      }
      return nil
    }
  }

  /// Reads the ELF header at an address; nil if no image begins there, or its headers cannot be read.
  ///
  /// - Parameter scratch: scratch memory of `scratchSize` bytes.
  @_noLocks
  init?(at start: UInt64, memory: SafeMemory, scratch: UnsafeMutableRawPointer) {
    // An Elf64_Ehdr has 64 bytes; its fields have these offsets: magic 0, class 4, e_phoff 32, e_phentsize 54,
    // e_phnum 56. Linkers put the program headers directly after this header, so one read gets both. Tools that change a
    // linked file, such as BOLT, put them at its end.
    let readable = unsafe memory.copy(start, to: scratch, count: 4096)
    guard readable >= 64,
      unsafe scratch.loadUnaligned(fromByteOffset: 0, as: UInt32.self) == 0x464C_457F,
      unsafe scratch.loadUnaligned(fromByteOffset: 4, as: UInt8.self) == UInt8(ELFCLASS64),
      unsafe scratch.loadUnaligned(fromByteOffset: 54, as: UInt16.self)
        == UInt16(ModuleImage.headerSize)
    else { return nil }
    let place = unsafe scratch.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    let offset = Int(truncatingIfNeeded: place)
    let size =
      unsafe Int(scratch.loadUnaligned(fromByteOffset: 56, as: UInt16.self))
      &* ModuleImage.headerSize
    guard offset >= 64, size <= 4096 else { return nil }
    var headers = unsafe Bytes(scratch, count: size)
    if offset <= readable, size <= readable &- offset {
      headers = unsafe Bytes(scratch + offset, count: size)
    } else if unsafe memory.copy(start &+ place, to: scratch, count: size) < size {
      return nil
    }
    // `start` is the address of the file's first byte, so the bias does not depend on the page size.
    var loaded = Segments(headers, PT_LOAD, bias: 0)
    guard let first = loaded.next() else { return nil }
    unsafe self.init(
      headers, at: start &+ place, bias: start &- (first.address &- first.offset), memory: memory,
      notes: scratch + 4096)
  }

  /// Reads program headers at an address; nil if they cannot be read, or do not describe any loaded segment.
  @_noLocks
  init?(
    headersAt address: UInt64, size: Int, bias: UInt64, memory: SafeMemory,
    scratch: UnsafeMutableRawPointer
  ) {
    guard size <= 4096, unsafe memory.copy(address, to: scratch, count: size) == size else {
      return nil
    }
    unsafe self.init(
      Bytes(scratch, count: size), at: address, bias: bias, memory: memory, notes: scratch + 4096)
  }

  private init?(
    _ headers: Bytes, at address: UInt64, bias: UInt64, memory: SafeMemory,
    notes: UnsafeMutableRawPointer
  ) {
    headersAddress = address
    programHeaders = headers
    self.bias = bias
    unsafe self.notes = notes
    self.memory = memory
    for segment in segments(PT_LOAD) {
      if segment.address & ~4095 < start { start = segment.address & ~4095 }
      if segment.end > end { end = segment.end }
    }
    guard start < end else { return nil }
  }

  /// The segments of one type, such as PT_LOAD.
  @_noLocks
  func segments(_ type: Int32) -> Segments { Segments(programHeaders, type, bias: bias) }

  /// The address of the dynamic section; 0 if there is none.
  var dynamicSection: UInt64 {
    @_noLocks get {
      var segments = segments(PT_DYNAMIC)
      return segments.next()?.address ?? 0
    }
  }

  /// Returns the loaded segment whose pages contain an address; nil for an address between segments or outside the
  /// image.
  @inline(never) @_noLocks
  func loaded(around address: UInt64) -> Segment? {
    for segment in segments(PT_LOAD) {
      if address >= segment.address & ~4095, address < (segment.end &+ 4095) & ~4095 {
        return segment
      }
    }
    return nil
  }

  /// True if the memory of the image's code is executable.
  ///
  /// If the memory is not executable, the image is not loaded: its file is only mapped for reading.
  @_noLocks
  func isMapped(in mappings: MappingTable) -> Bool {
    var hasCode = false
    for segment in segments(PT_LOAD) where segment.isCode {
      guard mappings.isExecutable(segment.address) else { return false }
      hasCode = true
    }
    return hasCode
  }

  /// Returns the GNU build ID, of at most 64 bytes, from the first PT_NOTE segment that has one.
  ///
  /// - Returns: the bytes of the build ID; no bytes if there is none.
  @_noLocks
  func buildID() -> Bytes {
    for segment in segments(PT_NOTE) {
      let found = buildID(inNotes: segment.address, size: segment.fileSize)
      if found.count > 0 { return found }
    }
    return unsafe Bytes(notes, count: 0)
  }

  /// Returns the build ID in one note segment; no bytes if there is none.
  ///
  /// A note has the size of its name at offset 0, the size of its description at offset 4, and its type at offset 8.
  /// The name and the description follow. Source: elf(5), "Notes (Nhdr)".
  private func buildID(inNotes address: UInt64, size: UInt64) -> Bytes {
    let wanted = size < 4096 ? Int(truncatingIfNeeded: size) : 4096
    let readable = unsafe memory.copy(address, to: notes, count: wanted)
    var offset = 0
    while offset &+ 12 <= readable {
      let note = unsafe notes + offset
      let nameSize = Int(unsafe note.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
      let descriptionSize = Int(unsafe note.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      let type = unsafe note.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
      let description = 12 &+ (nameSize &+ 3) & ~3
      let end = description &+ (descriptionSize &+ 3) & ~3
      guard end > 0, end <= readable &- offset else { break }
      // The note's owner is "GNU\0".
      if type == UInt32(NT_GNU_BUILD_ID), nameSize == 4, descriptionSize <= 64,
        unsafe note.loadUnaligned(fromByteOffset: 12, as: UInt32.self) == 0x0055_4E47
      {
        return unsafe Bytes(note + description, count: descriptionSize)
      }
      offset &+= end
    }
    return unsafe Bytes(notes, count: 0)
  }
}

extension MappingTable {
  /// Marks the mappings that contain an image's segments.
  @_noLocks
  func mark(_ image: ModuleImage) {
    var index = index(endingAbove: image.start)
    while index < count, self[index].start < image.end {
      if self[index].start <= image.start || image.loaded(around: self[index].start) != nil {
        mark(index)
      }
      index &+= 1
    }
  }
}
