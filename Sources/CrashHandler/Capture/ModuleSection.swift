internal import CSignalSafe
internal import IntermediateDump

/// Every ELF image: where, which file, which build.
///
/// Found from the mappings and read from memory, not through the dynamic linker: its list may be
/// half changed, and its lock may be held by the thread that crashed.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@c(pm_write_modules) @_noLocks
func pm_write_modules(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let writer = unsafe ModuleWriter(state)
  unsafe state.pointee.writer.startArray(.modules)
  let mappings = unsafe state.pointee.mappings
  var index = 0
  var written = 0
  while index < mappings.count, written < 4096 {
    let mapping = mappings[index]
    // A file may be mapped at its start more than once; only one whose image begins there passes
    // the check of its header.
    if mapping.has(Mapping.startsFile), mapping.has(Mapping.isReadable), mapping.pathLength > 0,
      writer.writeModule(mapping)
    {
      written &+= 1
    }
    index &+= 1
  }
  unsafe state.pointee.writer.end()
}

/// Reads an ELF header in memory and writes the module.
///
/// RUNS-DURING-CRASH.
@safe
private struct ModuleWriter {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// False if no ELF image begins at the mapping.
  @_noLocks
  func writeModule(_ mapping: Mapping) -> Bool {
    let place = unsafe state.pointee.scratch
    let memory = unsafe state.pointee.memory
    // Elf64_Ehdr: magic 0, class 4, e_phoff 32, e_phentsize 54, e_phnum 56; 64 bytes. The program
    // headers follow at once in every image that a linker made, so that one read has both.
    let first = 4096
    let readable = unsafe memory.copy(mapping.start, to: place, count: first)
    guard readable >= 64,
      unsafe place.loadUnaligned(fromByteOffset: 0, as: UInt32.self) == 0x464C_457F,
      unsafe place.loadUnaligned(fromByteOffset: 4, as: UInt8.self) == 2,
      unsafe place.loadUnaligned(fromByteOffset: 54, as: UInt16.self) == 56
    else { return false }
    let offset = Int(
      truncatingIfNeeded: unsafe place.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
    let count = Int(unsafe place.loadUnaligned(fromByteOffset: 56, as: UInt16.self))
    let size = count &* 56
    guard count > 0, offset >= 64, offset <= readable, size <= readable &- offset else {
      return false
    }
    let path = unsafe state.pointee.mappings.text + mapping.pathOffset
    unsafe state.pointee.writer.startMap(.module)
    unsafe state.pointee.writer.unsigned(.moduleAddress, mapping.start)
    unsafe state.pointee.writer.property(.modulePath, path, count: mapping.pathLength)
    unsafe state.pointee.writer.property(.moduleProgramHeaders, place + offset, count: size)
    unsafe writeBuildID(mapping.start, programHeaders: place + offset, count: count)
    unsafe state.pointee.writer.end()
    return true
  }

  /// Looks for the GNU build ID in every PT_NOTE segment.
  ///
  /// Elf64_Phdr: p_type 0, p_vaddr 16, p_filesz 32.
  @_noLocks
  private func writeBuildID(_ start: UInt64, programHeaders: UnsafeRawPointer, count: Int) {
    var bias = start
    var hasBias = false
    var index = 0
    while index < count {
      let header = unsafe programHeaders + index &* 56
      let type = unsafe header.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
      let address = unsafe header.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
      if type == 1, !hasBias {  // PT_LOAD; the lowest comes first
        bias = start &- (address & ~4095)
        hasBias = true
      }
      index &+= 1
    }
    index = 0
    while index < count {
      let header = unsafe programHeaders + index &* 56
      if unsafe header.loadUnaligned(fromByteOffset: 0, as: UInt32.self) == 4 {  // PT_NOTE
        let address = unsafe header.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        let size = unsafe header.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
        if writeBuildID(inNotes: bias &+ address, size: size) { return }
      }
      index &+= 1
    }
  }

  /// One note segment.
  ///
  /// Source: elf(5), "Notes (Nhdr)": name size 0, description size 4, type 8, name, description.
  @_noLocks
  private func writeBuildID(inNotes address: UInt64, size: UInt64) -> Bool {
    // Behind the header and the program headers, which are still needed.
    let place = unsafe state.pointee.scratch + 4096
    let wanted = size < 4096 ? Int(truncatingIfNeeded: size) : 4096
    let readable = unsafe state.pointee.memory.copy(address, to: place, count: wanted)
    var offset = 0
    while offset &+ 12 <= readable {
      let note = unsafe place + offset
      let nameSize = Int(unsafe note.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
      let descriptionSize = Int(unsafe note.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      let type = unsafe note.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
      let description = 12 &+ (nameSize &+ 3) & ~3
      let end = description &+ (descriptionSize &+ 3) & ~3
      guard end > 0, end <= readable &- offset else { return false }
      // NT_GNU_BUILD_ID of "GNU\0".
      if type == 3, nameSize == 4, descriptionSize <= 64,
        unsafe note.loadUnaligned(fromByteOffset: 12, as: UInt32.self) == 0x0055_4E47
      {
        unsafe state.pointee.writer.property(
          .moduleBuildID, note + description, count: descriptionSize)
        return true
      }
      offset &+= end
    }
    return false
  }
}
