internal import CSignalSafe

/// An ELF image in memory: its program headers, its build ID, its segments.
///
/// Its bytes lie in the handler's scratch memory, until the next image is read.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@safe
struct ModuleImage {
  /// The address of the ELF header.
  let start: UInt64
  let programHeaders: Bytes
  let programHeaderCount: Int
  private let notes: UnsafeMutableRawPointer
  private let memory: SafeMemory

  /// Bytes of scratch memory that an image takes.
  static var scratchSize: Int { @_noLocks get { 8192 } }

  /// Reads the header at an address; nil if no ELF image begins there.
  ///
  /// - Parameter scratch: `scratchSize` bytes.
  @_noLocks
  init?(at start: UInt64, memory: SafeMemory, scratch: UnsafeMutableRawPointer) {
    // Elf64_Ehdr: magic 0, class 4, e_phoff 32, e_phentsize 54, e_phnum 56; 64 bytes. The program
    // headers follow at once in every image that a linker made, so that one read has both.
    let readable = unsafe memory.copy(start, to: scratch, count: 4096)
    guard readable >= 64,
      unsafe scratch.loadUnaligned(fromByteOffset: 0, as: UInt32.self) == 0x464C_457F,
      unsafe scratch.loadUnaligned(fromByteOffset: 4, as: UInt8.self) == UInt8(ELFCLASS64),
      unsafe scratch.loadUnaligned(fromByteOffset: 54, as: UInt16.self) == 56
    else { return nil }
    let offset = Int(
      truncatingIfNeeded: unsafe scratch.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
    let count = Int(unsafe scratch.loadUnaligned(fromByteOffset: 56, as: UInt16.self))
    guard count > 0, offset >= 64, offset <= readable, count &* 56 <= readable &- offset else {
      return nil
    }
    self.start = start
    self.memory = memory
    programHeaderCount = count
    programHeaders = unsafe Bytes(scratch + offset, count: count &* 56)
    unsafe notes = scratch + 4096
  }

  /// The address of the `index`th segment of a type, and its size in the file; nil if there are
  /// fewer.
  ///
  /// Elf64_Phdr: p_type 0, p_offset 8, p_vaddr 16, p_filesz 32.
  private func segment(_ type: UInt32, _ index: Int) -> (address: UInt64, size: UInt64)? {
    var bias = start
    var hasBias = false
    var rest = index
    var found: UnsafeRawPointer? = nil
    var number = 0
    while number < programHeaderCount {
      let header = unsafe programHeaders.address + number &* 56
      number &+= 1
      let headerType = unsafe header.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
      if headerType == UInt32(PT_LOAD), !hasBias {  // the lowest comes first
        // The image's first byte lies at `start`, whatever the size of a page is.
        let offset = unsafe header.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        let address = unsafe header.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        bias = start &- (address &- offset)
        hasBias = true
      }
      if headerType == type, unsafe found == nil {
        if rest == 0 { unsafe found = header }
        rest &-= 1
      }
    }
    guard let header = unsafe found else { return nil }
    return (
      bias &+ (unsafe header.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
      unsafe header.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    )
  }

  /// The GNU build ID, at most 64 bytes, of the first PT_NOTE segment that has one.
  ///
  /// - Returns: its bytes; none if there is none.
  @_noLocks
  func buildID() -> Bytes {
    var index = 0
    while index < programHeaderCount, let segment = segment(UInt32(PT_NOTE), index) {
      let found = buildID(inNotes: segment.address, size: segment.size)
      if found.count > 0 { return found }
      index &+= 1
    }
    return unsafe Bytes(notes, count: 0)
  }

  /// One note segment.
  ///
  /// Source: elf(5), "Notes (Nhdr)": name size 0, description size 4, type 8, name, description.
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
      // Of the owner "GNU\0".
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
