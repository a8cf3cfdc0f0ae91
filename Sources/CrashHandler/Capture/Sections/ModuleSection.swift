internal import CSignalSafe
internal import IntermediateDump

/// Writes every ELF image: its address, its file, its build ID.
///
/// Found from the mappings and read from memory, not through the dynamic linker: its list may be
/// half changed, and its lock may be held by the thread that crashed.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@safe
struct ModuleSection {
  private static var limit: Int { 4096 }
  /// Offset in scratch memory of the addresses of headers that are read by one call.
  private static var addressesOffset: Int { ModuleImage.scratchSize }

  private let mappings: MappingTable
  private let memory: SafeMemory
  private let scratch: Scratch
  private let output: DumpOutput

  @_noLocks
  init(mappings: MappingTable, memory: SafeMemory, scratch: Scratch, output: DumpOutput) {
    self.mappings = mappings
    self.memory = memory
    self.scratch = scratch
    self.output = output
  }

  @_noLocks
  func write() {
    output.startArray(.modules)
    var index = 0
    var read = 0
    var written = 0
    while index < mappings.count, written < ModuleSection.limit {
      if index >= read { read = readHeaders(from: index) }
      let mapping = mappings[index]
      if mayBegin(mapping), writeModule(mapping) { written &+= 1 }
      index &+= 1
    }
    output.end()
  }

  /// A file may be mapped at its start more than once; only one whose image begins there passes the
  /// check of its header.
  private func mayBegin(_ mapping: Mapping) -> Bool {
    guard mapping.has(Mapping.startsFile), mapping.has(Mapping.isReadable), mapping.pathLength > 0
    else { return false }
    // Not the kernel's data beside the vDSO, which its "r" does not let anybody copy.
    return !mappings.path(of: mapping).text.matches("[vvar")
  }

  /// Reads the first pages of as many images as one call does; returns the mapping behind them.
  private func readHeaders(from first: Int) -> Int {
    let addresses = scratch.dropFirst(ModuleSection.addressesOffset)
    var index = first
    var count = 0
    while index < mappings.count, count < PageCache.batch {
      let mapping = mappings[index]
      if mayBegin(mapping) {
        addresses.setWord(count &* 8, mapping.start)
        count &+= 1
      }
      index &+= 1
    }
    memory.readAhead(addresses.bytes(count: count &* 8))
    return index
  }

  /// Writes a module; false if no ELF image begins at the mapping.
  private func writeModule(_ mapping: Mapping) -> Bool {
    guard
      let image = unsafe ModuleImage(at: mapping.start, memory: memory, scratch: scratch.address)
    else { return false }
    output.startMap(.module)
    output.unsigned(.moduleAddress, mapping.start)
    output.property(.modulePath, mappings.path(of: mapping))
    output.property(.moduleProgramHeaders, image.programHeaders)
    let buildID = image.buildID()
    if buildID.count > 0 { output.property(.moduleBuildID, buildID) }
    output.end()
    return true
  }
}
